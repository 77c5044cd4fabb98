"""A real fcitx5 on a private bus, text fields that type into it, and its menu."""

import os
import signal
import subprocess
import time

import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

DBusGMainLoop(set_as_default=True)
BUS = dbus.SessionBus()
NAME = "org.fcitx.Fcitx5"

# Flags of a field, in fcitx-utils/capabilityflags.h.
PREEDIT, PASSWORD, UNFOCUS_COMMIT, URL, SENSITIVE, KEY_ORDER = 1 << 1, 1 << 3, 1 << 5, 1 << 12, 1 << 36, 1 << 37

SPECIAL = {"\n": 0xFF0D, "\b": 0xFF08, "\t": 0xFF09}
LEFT, COMPOSE, DEAD_ACUTE = 0xFF51, 0xFF20, 0xFE51
CONTROL = 1 << 2

# Codes of the keys of a keyboard, which layouts other than the system's need.
CODES = {character: first + place for first, row in ((24, "qwertyuiop"), (38, "asdfghjkl;"), (52, "zxcvbnm,./"))
         for place, character in enumerate(row)} | {" ": 65, "\n": 36, "\b": 22}


def pump(seconds):
    loop = GLib.MainLoop()
    GLib.timeout_add(int(seconds * 1000), loop.quit)
    loop.run()


def proxy(path, interface, name=NAME):
    return dbus.Interface(BUS.get_object(name, path, introspect=False), interface)


class Tray(dbus.service.Object):
    """Stands in for the tray of a desktop, so that fcitx5 exports its menu."""

    WATCHER = "org.kde.StatusNotifierWatcher"

    def __init__(self):
        self.name = dbus.service.BusName(self.WATCHER, BUS)
        self.item = None
        super().__init__(BUS, "/StatusNotifierWatcher")

    @dbus.service.method(WATCHER, in_signature="s", sender_keyword="sender")
    def RegisterStatusNotifierItem(self, name, sender=None):
        self.item = sender

    @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        return True

    @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        return {"IsStatusNotifierHostRegistered": True}


class Daemon:
    """fcitx5, which can be killed and started again."""

    def __init__(self, log):
        self.log = log
        self.tray = Tray()
        self.start()

    def start(self):
        self.tray.item = None
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(["fcitx5", "--disable=wayland,waylandim"], stdout=log, stderr=log)
        end = time.monotonic() + 30
        while True:
            # A call before fcitx5 has its name would let the bus start another one.
            if BUS.name_has_owner(NAME):
                try:
                    self.keyboard = proxy("/undertone", "dev.undertone.Keyboard1")
                    self.keyboard.Promised()
                    self.controller = proxy("/controller", "org.fcitx.Fcitx.Controller1")
                    return
                except dbus.DBusException:
                    pass
            if time.monotonic() > end or self.process.poll() is not None:
                raise SystemExit("FAILED: fcitx5 does not start with the add-on")
            time.sleep(0.02)

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait()
        while BUS.name_has_owner(NAME):
            time.sleep(0.005)

    def restart(self):
        self.kill()
        self.start()

    def menu(self):
        """The entries of the add-on: (number, label, whether it is checked)."""
        end = time.monotonic() + 30
        # A registration may arrive after its sender was killed.
        while self.tray.item is None or not BUS.name_has_owner(self.tray.item):
            if time.monotonic() > end:
                raise SystemExit("FAILED: fcitx5 exports no menu")
            pump(0.02)
        menu = proxy("/MenuBar", "com.canonical.dbusmenu", self.tray.item)
        menu.AboutToShow(0)
        _, layout = menu.GetLayout(0, -1, dbus.Array([], signature="s"))
        for _, properties, children in layout[2]:
            if properties.get("label") == "undertone":
                return [(int(number), str(entry["label"]), bool(entry.get("toggle-state", 0)))
                        for number, entry, _ in children]
        raise SystemExit("FAILED: the menu has no entry of the add-on")

    def toggle(self, entry):
        """Clicks on an entry of the menu. fcitx5 answers before it acts."""
        number, _, checked = self.menu()[entry]
        menu = proxy("/MenuBar", "com.canonical.dbusmenu", self.tray.item)
        menu.Event(number, "clicked", dbus.Int32(0, variant_level=1), dbus.UInt32(0))
        end = time.monotonic() + 30
        while self.menu()[entry][2] == checked:
            if time.monotonic() > end:
                raise SystemExit("FAILED: a click on the menu changes nothing")
            pump(0.005)


class Field:
    """A text field of a program, as the program's toolkit shows it to fcitx5. It has the focus."""

    def __init__(self, daemon, program="notes", flags=0, engine="keyboard-us"):
        self.daemon = daemon
        method = proxy("/org/freedesktop/portal/inputmethod", "org.fcitx.Fcitx.InputMethod1")
        path, _ = method.CreateInputContext([("program", program), ("display", "x11:")])
        self.context = proxy(path, "org.fcitx.Fcitx.InputContext1")
        self.flag(flags)
        self.focus()
        if daemon.controller.CurrentInputMethod() != engine:
            daemon.controller.SetCurrentIM(engine)

    def flag(self, flags):
        self.context.SetCapability(dbus.UInt64(flags))

    def focus(self):
        self.context.FocusIn()

    def leave(self):
        self.context.FocusOut()

    def close(self):
        self.context.DestroyIC()

    def key(self, symbol, code=0, state=0, wait=True):
        for release in (False, True):
            self.context.ProcessKeyEvent(dbus.UInt32(symbol), dbus.UInt32(code), dbus.UInt32(state), release,
                                         dbus.UInt32(0), ignore_reply=release or not wait)

    def type(self, text, wait=True):
        for character in text:
            # Characters beyond Latin-1 have their own range of key symbols.
            symbol = ord(character) + (0x1000000 if character > "\xff" else 0)
            self.key(SPECIAL.get(character, symbol), CODES.get(character, 0), wait=wait)
