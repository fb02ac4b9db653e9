#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of known number and length.

net-traffic.py send INTERFACE FRAMES BYTES [all]: send them there, as they are; all: as broadcasts.
net-traffic.py tap NAME FIFO REPLIES COMMAND...: make a tap, start COMMAND, which inherits its
descriptor as QEMU does from libvirt, and write the frames that each line "FRAMES BYTES" of FIFO
asks for into the tap, as a guest that sends. Answers in REPLIES; ends with the end of FIFO. With
TAP_OWN_NAMESPACE in the environment, the tap is in a network namespace of its own, COMMAND is not.
net-traffic.py macvtap DEVICE FIFO REPLIES COMMAND...: the same with the character device of a macvtap.
"""
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys

TUNSETIFF = 0x400454CA
CLONE_NEWNET = 0x40000000
IFF_TAP, IFF_NO_PI = 2, 0x1000
# To an unused address, from another one, of an experimental protocol: no stack answers.
HEADER = bytes.fromhex("02000000000102000000000288b5")


def frame(length):
    return HEADER + bytes(length - len(HEADER))


def send(interface, frames, length, to=""):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
        out.bind((interface, 0))
        message = frame(int(length))
        if to == "all":
            message = bytes([0xFF] * 6) + message[6:]
        for _ in range(int(frames)):
            out.send(message)


def tap(name, fifo, replies, *command):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    if "TAP_OWN_NAMESPACE" in os.environ:
        os.close(fd)
        if libc.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    if libc.setns(home, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    serve(fd, fifo, replies, command)


def macvtap(device, fifo, replies, *command):
    fd = os.open(device, os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"", IFF_TAP | IFF_NO_PI))
    serve(fd, fifo, replies, command)


def serve(fd, fifo, replies, command):
    with subprocess.Popen(command, pass_fds=[fd]) as child:
        with open(fifo, encoding="ascii") as lines, open(replies, "w", encoding="ascii") as out:
            for line in lines:
                frames, length = map(int, line.split())
                for _ in range(frames):
                    os.write(fd, frame(length))
                print("done", file=out, flush=True)
        child.kill()


{"send": send, "tap": tap, "macvtap": macvtap}[sys.argv[1]](*sys.argv[2:])
