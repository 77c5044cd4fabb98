// Numbers, candidates, emoji and releases as text for people.

#ifndef KEYBOARD_PEOPLE_HPP
#define KEYBOARD_PEOPLE_HPP

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <undertone.hpp>

namespace keyboard {

/// Micro-units as a decimal number.
inline std::string epsilon_text(std::uint64_t micro)
{
    std::string text = std::to_string(micro / 1000000);
    const std::string fraction = std::to_string(1000000 + micro % 1000000).substr(1);
    const std::size_t digits = fraction.find_last_not_of('0');
    if (digits != std::string::npos) text += "." + fraction.substr(0, digits + 1);
    return text;
}

inline std::string hexadecimal(const std::uint8_t *bytes, std::size_t len)
{
    std::string text;
    for (std::size_t i = 0; i < len; i++) {
        char pair[3];
        std::snprintf(pair, sizeof pair, "%02x", static_cast<unsigned>(bytes[i]));
        text += pair;
    }
    return text;
}

/// A candidate of a pack.
struct Candidate {
    std::string name;
    std::string excerpt;
};

/// Reads the output of `undertone inspect`: the pack's identifier, then a line for each candidate.
/// If it fails, `why` has the reason.
inline std::optional<std::vector<Candidate>> read_candidates(const std::string &path, const undertone::Pack::Id &pack,
                                                             std::string &why)
{
    std::ifstream file(path);
    std::string line;
    if (!file || !std::getline(file, line)) {
        why = "cannot read " + path;
        return std::nullopt;
    }
    if (line != "# pack " + hexadecimal(pack.data(), pack.size())) {
        why = path + " is not of this pack; `undertone inspect` writes it";
        return std::nullopt;
    }
    std::vector<Candidate> candidates;
    while (std::getline(file, line)) {
        const std::size_t first = line.find('\t');
        const std::size_t second = first == std::string::npos ? first : line.find('\t', first + 1);
        if (second == std::string::npos || line.substr(0, first) != std::to_string(candidates.size())) {
            why = path + ": line " + std::to_string(candidates.size() + 2) + " is not a candidate";
            return std::nullopt;
        }
        candidates.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
    }
    return candidates;
}

/// A form whose only attribute has emoji as categories.
struct Emoji {
    undertone::Form form;
    std::vector<std::string> names;

    /// Reads a form. If it fails, `why` has the reason.
    static std::optional<Emoji> read(const std::string &path, std::string &why)
    {
        std::ifstream file(path, std::ios::binary);
        auto form = undertone::Form::own({std::istreambuf_iterator<char>(file), {}});
        if (!form) {
            why = path + ": " + form.status().message();
            return std::nullopt;
        }
        if (form->attribute_name(1)) {
            why = path + " has several attributes; make a form with one";
            return std::nullopt;
        }
        std::vector<std::string> names;
        while (const auto name = form->category_name(0, static_cast<std::uint32_t>(names.size())))
            names.emplace_back(*name);
        return Emoji{*std::move(form), std::move(names)};
    }

    /// The number of the first emoji in a line; of two that start alike, the longer one.
    std::uint32_t first(std::string_view line) const
    {
        for (; !line.empty(); line.remove_prefix(1)) {
            std::size_t longest = 0;
            std::uint32_t found = undertone::no_answer;
            for (std::size_t i = 0; i < names.size(); i++) {
                if (names[i].size() <= longest || line.substr(0, names[i].size()) != names[i]) continue;
                longest = names[i].size();
                found = static_cast<std::uint32_t>(i);
            }
            if (longest != 0) return found;
        }
        return undertone::no_answer;
    }

    /// The content of a release, for people. If the form has many emoji for its epsilon, a release
    /// names a point, which stands for several of them.
    std::string named(const undertone::ReleaseContent &content) const
    {
        constexpr std::uint32_t RANDOMISED_RESPONSE = 1;
        if (content.order != RANDOMISED_RESPONSE) return "point " + std::to_string(content.candidate) + " of the emoji";
        return content.candidate < names.size() ? "the emoji " + names[content.candidate] : "no emoji";
    }
};

} // namespace keyboard

#endif // KEYBOARD_PEOPLE_HPP
