"""Plants a mistake in a copy of the sources: plant.py NAME FOLDER. Prints the failure that must follow."""

import sys
from pathlib import Path

# Name: the check that must fail, and in a file, the old text and the new one.
PLANTS = {
    "password": ("lines after a password field", [
        ("fcitx5/addon.cpp", "CapabilityFlag::Password, ", "")]),
    "text": ("text on disk", [
        ("keyboard/year.hpp", "        const auto status = std::visit(",
         "        std::ofstream(stored_ + \".log\", std::ios::app) << line;\n"
         "        const auto status = std::visit(")]),
    "second": ("a second release in the year", [
        ("keyboard/year.hpp", "{WEEKS * kinds(), 1, epsilon_}", "{WEEKS * kinds(), 2, epsilon_}"),
        ("fcitx5/diary.cpp", "open_or_create(ledger_path_, UNIT, EPSILON.micro())",
         "open_or_create(ledger_path_, UNIT, 2 * EPSILON.micro())")]),
    "menu": ("the menu says what the outbox has", [
        ("fcitx5/addon.cpp", "        diary_.turn();\n        agree_",
         "        const auto before = diary_.outbox();\n        diary_.turn();\n        agree_"),
        ("fcitx5/addon.cpp", "&entry : diary_.outbox()) names", "&entry : before) names")]),
    "kind": ("the reservoir keeps what the menu names", [
        ("fcitx5/diary.cpp", "(appointed->is_emoji ?", "(!appointed->is_emoji ?")]),
}

failure, edits = PLANTS[sys.argv[1]]
for name, old, new in edits:
    path = Path(sys.argv[2]) / name
    text = path.read_text()
    if text.count(old) != 1:
        sys.exit(f"plant.py: {name} has {text.count(old)} times, and not once: {old}")
    path.write_text(text.replace(old, new))
print(failure)
