"""Texts of a page that cannot be read: cut off, or under one another. Functions for the page to run."""

_TEXTS = """
  const texts = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const parent = node.parentElement;
    if (!node.textContent.trim() || !parent.checkVisibility({visibilityProperty: true})) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const lines = [...range.getClientRects()].filter((one) => one.width > 0);
    if (lines.length) texts.push({node, parent, lines, words: node.textContent.trim().slice(0, 60)});
  }
  const scrolls = (value) => value === "auto" || value === "scroll";
  const clips = (value) => value === "hidden" || value === "clip";
"""

CUT = (
    "() => {"
    + _TEXTS
    + """
  const judge = ({parent, lines}) => {
    const right = Math.max(...lines.map((one) => one.right));
    const bottom = Math.max(...lines.map((one) => one.bottom));
    let within = true;
    for (let box = parent; box && box.tagName !== "MAIN"; box = box.parentElement) {
      const style = getComputedStyle(box);
      const area = box.getBoundingClientRect();
      // Dots say that there is more.
      if (style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none") return false;
      if (scrolls(style.overflowX) && area.right <= window.innerWidth + 1) within = false;
      if (!within) continue;
      if (clips(style.overflowX) && right > area.right + 1) return true;
      // A line is a little lower than its letters could be.
      if (clips(style.overflowY) && bottom > area.bottom + 3) return true;
    }
    return within && right > window.innerWidth + 1;
  };
  return texts.filter(judge).map((one) => one.words);
}"""
)
"""Texts that the window or a box cuts off without saying so, and that nothing scrolls into sight."""

OVERLAPPING = (
    "() => {"
    + _TEXTS
    + """
  const seen = ({parent, lines}) => {
    let left = -Infinity, right = Infinity, top = -Infinity, bottom = Infinity;
    for (let box = parent; box && box.tagName !== "MAIN"; box = box.parentElement) {
      if (getComputedStyle(box).overflowX === "visible") continue;
      const area = box.getBoundingClientRect();
      left = Math.max(left, area.left);
      right = Math.min(right, area.right);
      top = Math.max(top, area.top);
      bottom = Math.min(bottom, area.bottom);
    }
    return lines
      .map((one) => ({
        left: Math.max(left, one.left),
        right: Math.min(right, one.right),
        top: Math.max(top, one.top),
        bottom: Math.min(bottom, one.bottom),
      }))
      .filter((one) => one.right > one.left && one.bottom > one.top);
  };
  const drawn = texts.map((one) => ({words: one.words, lines: seen(one)}));
  const over = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  const found = [];
  drawn.forEach((one, index) => {
    for (const other of drawn.slice(index + 1))
      if (one.lines.some((a) => other.lines.some((b) => over(a, b)))) found.push(`${one.words} / ${other.words}`);
  });
  return found;
}"""
)
"""Pairs of texts that lie on one another."""
