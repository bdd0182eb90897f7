"""Screenshots reduced to a palette: small, sharp, and without a library for images.

Chromium decodes the screenshot and counts its colours; what comes back are indices, which become a PNG.
"""

import base64
import struct
import zlib
from typing import Any

from playwright.async_api import Page

_REDUCE = """async (encoded) => {
  const image = new Image();
  image.src = "data:image/png;base64," + encoded;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const {data} = context.getImageData(0, 0, image.width, image.height);
  const counts = new Map();
  for (let i = 0; i < data.length; i += 4) {
    const colour = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const apart = (a, b) =>
    Math.abs((a >> 16) - (b >> 16)) + Math.abs(((a >> 8) & 255) - ((b >> 8) & 255)) + Math.abs((a & 255) - (b & 255));
  const common = [...counts].sort((a, b) => b[1] - a[1]).map(([colour]) => colour);
  const palette = [];
  // The commonest colours first, each some way from those before; closer ones while there is room.
  for (let least = 32; palette.length < 256 && least >= 1; least /= 2)
    for (const colour of common)
      if (palette.length < 256 && palette.every((one) => apart(one, colour) >= least)) palette.push(colour);
  const nearest = new Map();
  for (const colour of common) {
    let best = 0;
    for (let i = 1; i < palette.length; i++) if (apart(palette[i], colour) < apart(palette[best], colour)) best = i;
    nearest.set(colour, best);
  }
  const pixels = new Uint8Array(image.width * image.height);
  for (let i = 0; i < pixels.length; i++)
    pixels[i] = nearest.get((data[4 * i] << 16) | (data[4 * i + 1] << 8) | data[4 * i + 2]);
  let text = "";
  for (let i = 0; i < pixels.length; i += 8192) text += String.fromCharCode(...pixels.subarray(i, i + 8192));
  return {width: image.width, height: image.height, palette, pixels: btoa(text)};
}"""


_SAME = """([one, other]) => {
  const drawn = (text) => {
    const canvas = new OffscreenCanvas(32, 32);
    const context = canvas.getContext("2d");
    context.font = "24px sans-serif";
    context.fillText(text, 2, 26);
    return context.getImageData(0, 0, 32, 32).data.join();
  };
  return drawn(one) === drawn(other);
}"""
_NOTHING = "\U0010fffd"
"""A letter that no font has: what is drawn in its place stands for all that are missing."""


async def draws(blank: Page, letter: str) -> bool:
    """Whether there is a font for a letter."""
    return not await blank.evaluate(_SAME, [letter, _NOTHING])


async def reduced(blank: Page, screenshot: bytes) -> bytes:
    """The same picture with at most 256 colours; `blank` is a page whose policy forbids nothing."""
    found: dict[str, Any] = await blank.evaluate(_REDUCE, base64.b64encode(screenshot).decode())
    width, height, palette = found["width"], found["height"], found["palette"]
    pixels = base64.b64decode(found["pixels"])
    rows = b"".join(b"\0" + pixels[start : start + width] for start in range(0, len(pixels), width))
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
        + _chunk(b"PLTE", b"".join(colour.to_bytes(3, "big") for colour in palette))
        + _chunk(b"IDAT", zlib.compress(rows, 9))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
