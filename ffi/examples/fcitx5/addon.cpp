// An add-on for fcitx5: lines that are typed with any engine become one release a year. It keeps a
// line in memory until the line ends, and only in the week that is appointed.

#include <fcitx-utils/capabilityflags.h>
#include <fcitx-utils/dbus/bus.h>
#include <fcitx-utils/dbus/objectvtable.h>
#include <fcitx-utils/standardpath.h>
#include <fcitx-utils/utf8.h>
#include <fcitx/action.h>
#include <fcitx/addonfactory.h>
#include <fcitx/addoninstance.h>
#include <fcitx/addonmanager.h>
#include <fcitx/inputcontext.h>
#include <fcitx/inputcontextmanager.h>
#include <fcitx/inputcontextproperty.h>
#include <fcitx/inputpanel.h>
#include <fcitx/instance.h>
#include <fcitx/menu.h>
#include <fcitx/statusarea.h>
#include <fcitx/userinterfacemanager.h>

#include <dbus_public.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "diary.hpp"
#include "line.hpp"

namespace {

using fcitx::CapabilityFlag;
using fcitx::EventType;
using fcitx::InputContext;
using fcitx::KeyState;

constexpr std::uint64_t HOUR = 3600000000; // in microseconds

/// The unfinished line of a field.
struct Typed : fcitx::InputContextProperty {
    Line line;
    /// The engine's text in the field that is not yet committed.
    Line preedit;

    void clear()
    {
        line.clear();
        preedit.clear();
    }
};

/// Whether a program is a known terminal, or has no name. Terminals set no flag when a program in
/// them reads a password.
bool may_be_terminal(std::string program)
{
    program.erase(0, program.rfind('/') + 1);
    std::transform(program.begin(), program.end(), program.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    for (const char *part : {"term", "konsole", "console", "alacritty", "kitty", "ghostty", "rxvt", "tmux"})
        if (program.find(part) != std::string::npos) return true;
    for (const char *name : {"", "foot", "footclient", "guake", "kgx", "ptyxis", "rio", "sakura", "st", "tabby",
                             "tilda", "tilix", "warp", "yakuake"})
        if (program == name) return true;
    return false;
}

/// Whether lines of a field may be released: it is for prose, and its program would set a flag
/// otherwise. The XIM front end has no flags.
bool is_prose(InputContext *field)
{
    const fcitx::CapabilityFlags others{CapabilityFlag::Password, CapabilityFlag::Sensitive, CapabilityFlag::Email,
                                        CapabilityFlag::Digit,    CapabilityFlag::Url,       CapabilityFlag::Dialable,
                                        CapabilityFlag::Number,   CapabilityFlag::Name,      CapabilityFlag::Terminal,
                                        CapabilityFlag::Date,     CapabilityFlag::Time,      CapabilityFlag::Disable};
    return !field->capabilityFlags().testAny(others) && field->frontend() != std::string_view("xim") &&
           !may_be_terminal(field->program());
}

/// A folder that the user's other machines do not share: a ledger must not be copied.
std::string state_folder()
{
    const char *state = std::getenv("XDG_STATE_HOME");
    if (state != nullptr && *state == '/') return std::string(state) + "/undertone-fcitx5";
    const char *home = std::getenv("HOME");
    return std::string(home == nullptr ? "" : home) + "/.local/state/undertone-fcitx5";
}

std::string public_file(const char *name)
{
    const auto &path = fcitx::StandardPath::global();
    return path.locate(fcitx::StandardPath::Type::PkgData, std::string("undertone/") + name);
}

class Addon;

/// The texts of the menu, for other programs of the user. It has no method to agree.
class Bus : public fcitx::dbus::ObjectVTable<Bus> {
public:
    explicit Bus(Addon &addon) : addon_(addon) {}

private:
    std::string promised();
    std::string next();
    std::vector<std::string> outbox();
    void withdraw();

    FCITX_OBJECT_VTABLE_METHOD(promised, "Promised", "", "s");
    FCITX_OBJECT_VTABLE_METHOD(next, "Next", "", "s");
    FCITX_OBJECT_VTABLE_METHOD(outbox, "Outbox", "", "as");
    FCITX_OBJECT_VTABLE_METHOD(withdraw, "Withdraw", "", "");

    Addon &addon_;
};

class Addon : public fcitx::AddonInstance {
    fcitx::Instance *instance_;
    // Its type is deduced, so it must come before it is used.
    FCITX_ADDON_DEPENDENCY_LOADER(dbus, instance_->addonManager());

public:
    explicit Addon(fcitx::Instance *instance)
        : instance_(instance),
          diary_(public_file("topics.pack"), public_file("topics.tsv"), public_file("emoji.form"), state_folder()),
          factory_([](InputContext &) { return new Typed; }), bus_(*this)
    {
        instance_->inputContextManager().registerProperty("undertone", &factory_);
        make_menu();
        watch();
        if (auto *module = dbus())
            module->call<fcitx::IDBusModule::bus>()->addObjectVTable("/undertone", "dev.undertone.Keyboard1", bus_);
        // A release that is due leaves even if nothing is typed.
        timer_ = instance_->eventLoop().addTimeEvent(CLOCK_MONOTONIC, fcitx::now(CLOCK_MONOTONIC) + HOUR, 0,
                                                     [this](fcitx::EventSourceTime *timer, std::uint64_t) {
                                                         refresh();
                                                         timer->setNextInterval(HOUR);
                                                         timer->setOneShot();
                                                         return true;
                                                     });
        refresh();
    }

    Diary &diary() { return diary_; }

    /// Turns the diary to the present week, and shows its state.
    void refresh()
    {
        diary_.turn();
        agree_.setChecked(diary_.has_agreed());
        promise_.setShortText("Promise: " + diary_.promise());
        next_.setShortText("Next: " + diary_.next());
        std::string names;
        for (const auto &entry : diary_.outbox()) names += (names.empty() ? "" : ", ") + entry.name;
        outbox_.setShortText("Outbox: " + (names.empty() ? "empty" : names));
        instance_->inputContextManager().foreach([this](InputContext *field) {
            if (!diary_.is_drawing()) typed(field).clear();
            for (auto *action : {&agree_, &promise_, &next_, &outbox_}) action->update(field);
            return true;
        });
    }

private:
    void make_menu()
    {
        root_.setShortText("undertone");
        root_.setIcon("document-send");
        agree_.setCheckable(true);
        agree_.setShortText(diary_.question());
        agree_.connect<fcitx::SimpleAction::Activated>([this](InputContext *) {
            if (diary_.has_agreed()) diary_.withdraw();
            else diary_.agree();
            refresh();
        });
        auto &interface = instance_->userInterfaceManager();
        root_.registerAction("undertone", &interface);
        agree_.registerAction("undertone-agree", &interface);
        promise_.registerAction("undertone-promise", &interface);
        next_.registerAction("undertone-next", &interface);
        outbox_.registerAction("undertone-outbox", &interface);
        for (auto *action : {&agree_, &promise_, &next_, &outbox_}) menu_.addAction(action);
        root_.setMenu(&menu_);
    }

    void watch()
    {
        // Emitted last, when it is known whether fcitx5 or an engine has accepted the key.
        key_ = instance_->connect<fcitx::Instance::KeyEventResult>(
            [this](const fcitx::KeyEvent &event) { on_key(event); });
        // CommitStringEvent may come after the Return that ends the line; the filter never does.
        commit_ = instance_->connect<fcitx::Instance::CommitFilter>(
            [this](InputContext *field, std::string &text) { append(field, text); });
        on(EventType::InputContextFocusIn, [this](InputContext *field) {
            add_menu(field);
            refresh();
        });
        on(EventType::InputContextInputMethodActivated, [this](InputContext *field) { add_menu(field); });
        on(EventType::InputContextUpdatePreedit, [this](InputContext *field) {
            // The preedit is already gone when the focus is.
            if (!field->hasFocus()) return;
            typed(field).preedit.clear();
            if (listens(field)) typed(field).preedit.append(field->inputPanel().clientPreedit().toStringForCommit());
        });
        on(EventType::InputContextFocusOut, [this](InputContext *field) {
            // Such a client commits the preedit by itself, without an event.
            if (field->capabilityFlags().test(CapabilityFlag::ClientUnfocusCommit))
                append(field, std::string(typed(field).preedit.view()));
            end_line(field);
        });
        // A field that is destroyed gets no FocusOut.
        on(EventType::InputContextDestroyed, [this](InputContext *field) { end_line(field); });
        on(EventType::InputContextCapabilityChanged, [this](InputContext *field) {
            if (!is_prose(field)) typed(field).clear();
        });
    }

    template <class Do>
    void on(EventType type, Do what)
    {
        watchers_.push_back(
            instance_->watchEvent(type, fcitx::EventWatcherPhase::PostInputMethod, [what](fcitx::Event &event) {
                what(static_cast<fcitx::InputContextEvent &>(event).inputContext());
            }));
    }

    void add_menu(InputContext *field)
    {
        field->statusArea().addAction(fcitx::StatusGroup::AfterInputMethod, &root_);
    }

    Typed &typed(InputContext *field) { return *field->propertyFor(&factory_); }
    bool listens(InputContext *field) const { return diary_.is_drawing() && is_prose(field); }

    void on_key(const fcitx::KeyEvent &event)
    {
        auto *field = event.inputContext();
        // An engine commits the text of the keys that it accepts.
        if (event.isRelease() || event.accepted() || !listens(field)) return;
        const auto key = event.rawKey();
        const auto sym = key.sym();
        auto &line = typed(field).line;
        if (key.isModifier() || sym == FcitxKey_Caps_Lock || sym == FcitxKey_Num_Lock ||
            sym == FcitxKey_ISO_Level3_Shift || sym == FcitxKey_Mode_switch)
            return;
        const std::string character = fcitx::Key::keySymToUTF8(sym);
        if (key.states().testAny(fcitx::KeyStates{KeyState::Ctrl, KeyState::Alt, KeyState::Super, KeyState::Hyper}))
            line.clear();
        else if (sym == FcitxKey_Return || sym == FcitxKey_KP_Enter) end_line(field);
        else if (sym == FcitxKey_BackSpace) line.backspace();
        // The text of a line is unknown after other keys, which move the cursor or delete elsewhere.
        else if (character.empty() || static_cast<unsigned char>(character[0]) < ' ' || character[0] == '\x7f')
            line.clear();
        // If fcitx5 translates a key to another layout, it commits the character.
        else if (!event.forward() || sym == event.origKey().sym()) line.append(character);
    }

    void append(InputContext *field, const std::string &text)
    {
        if (!listens(field) || !fcitx::utf8::validate(text)) return;
        for (const std::uint32_t character : fcitx::utf8::MakeUTF8CharRange(text)) {
            if (character == '\n' || character == '\r') end_line(field);
            else typed(field).line.append(fcitx::utf8::UCS4ToUTF8(character));
        }
    }

    void end_line(InputContext *field)
    {
        if (diary_.turn()) refresh();
        if (listens(field)) diary_.add(typed(field).line.view());
        typed(field).clear();
    }

    Diary diary_;
    fcitx::FactoryFor<Typed> factory_;
    Bus bus_;
    fcitx::SimpleAction root_, agree_, promise_, next_, outbox_;
    fcitx::Menu menu_;
    std::unique_ptr<fcitx::EventSourceTime> timer_;
    fcitx::ScopedConnection key_, commit_;
    std::vector<std::unique_ptr<fcitx::HandlerTableEntry<fcitx::EventHandler>>> watchers_;
};

std::string Bus::promised()
{
    return addon_.diary().promise();
}

std::string Bus::next()
{
    addon_.refresh();
    return addon_.diary().next();
}

/// Hexadecimal digits and the name of each release.
std::vector<std::string> Bus::outbox()
{
    std::vector<std::string> entries;
    for (const auto &entry : addon_.diary().outbox()) entries.push_back(entry.release + " " + entry.name);
    return entries;
}

void Bus::withdraw()
{
    addon_.diary().withdraw();
    addon_.refresh();
}

class Factory : public fcitx::AddonFactory {
    fcitx::AddonInstance *create(fcitx::AddonManager *manager) override { return new Addon(manager->instance()); }
};

} // namespace

FCITX_ADDON_FACTORY(Factory)
