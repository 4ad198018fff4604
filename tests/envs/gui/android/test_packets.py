"""Packets by hand: bytes written down from AOSP's protocol.txt."""

import pytest

from tiltyard.envs.gui.android.packets import OPEN, PIECE, STDOUT, WRTE, BrokenPacket, Header, checksum, packet, piece

OPENED = bytes.fromhex("4f50454e 01000000 00000000 03000000 26010000 b0afbab1") + b"abc"


def test_a_packet_is_as_the_protocol_says() -> None:
    assert checksum(b"abc") == 97 + 98 + 99 == 0x126
    assert packet(OPEN, 1, 0, b"abc") == OPENED
    header = Header.read(OPENED[:24])
    assert (header.command, header.arg0, header.arg1, header.length) == (OPEN, 1, 0, 3)
    header.verify(b"abc")


def test_a_wrong_sum_is_found_and_none_is_not_missed() -> None:
    with pytest.raises(BrokenPacket, match="add up to 295, its header says 294"):
        Header.read(OPENED[:24]).verify(b"abd")
    Header.read(packet(WRTE, 1, 2, b"abc", sums=False)[:24]).verify(b"abd")


@pytest.mark.parametrize("at", [0, 20])
def test_other_bytes_are_no_packet(at: int) -> None:
    broken = bytearray(OPENED[:24])
    broken[at] ^= 1
    with pytest.raises(BrokenPacket, match="no adb packet begins with"):
        Header.read(bytes(broken))


def test_a_payload_larger_than_any_is_refused_before_it_is_read() -> None:
    huge = bytearray(OPENED[:24])
    huge[12:16] = (2**31).to_bytes(4, "little")
    with pytest.raises(BrokenPacket, match="2147483648 bytes is larger than 1048576"):
        Header.read(bytes(huge))


def test_a_piece_of_the_second_shell_protocol() -> None:
    assert piece(STDOUT, b"hi") == b"\x01\x02\x00\x00\x00hi"
    assert PIECE.size == 5
