// A line that is being typed.

#ifndef UNDERTONE_FCITX5_LINE_HPP
#define UNDERTONE_FCITX5_LINE_HPP

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

/// A line of at most 4,096 bytes, which is never moved, and is overwritten when it is cleared. It
/// leaves out what does not fit.
class Line {
public:
    Line() = default;
    Line(const Line &) = delete;
    Line &operator=(const Line &) = delete;
    ~Line() { clear(); }

    /// Adds text in UTF-8.
    void append(std::string_view text)
    {
        if (text.size() > bytes_.size() - len_) return;
        std::memcpy(bytes_.data() + len_, text.data(), text.size());
        len_ += text.size();
    }

    /// Removes the last character.
    void backspace()
    {
        while (len_ > 0) {
            const auto byte = static_cast<unsigned char>(bytes_[--len_]);
            bytes_[len_] = 0;
            // Bytes 0x80 to 0xbf continue a character.
            if ((byte & 0xc0) != 0x80) return;
        }
    }

    void clear()
    {
        explicit_bzero(bytes_.data(), len_);
        len_ = 0;
    }

    bool is_empty() const { return len_ == 0; }
    std::string_view view() const { return {bytes_.data(), len_}; }

private:
    std::array<char, 4096> bytes_;
    std::size_t len_ = 0;
};

#endif // UNDERTONE_FCITX5_LINE_HPP
