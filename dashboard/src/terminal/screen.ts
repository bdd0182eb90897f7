// A terminal's screen: what a shell writes becomes lines of text. Knows the control sequences that shells and common
// programs use (cursor, erasing, scrolling, alternate screen); colours are left out.

type Row = string[];
const HISTORY = 2000;

export class Screen {
  rows: Row[] = [[]];
  /** The row of the page's first line: what is above it has scrolled away. */
  top = 0;
  y = 0;
  x = 0;
  private saved = { x: 0, y: 0 };
  private other: { rows: Row[]; top: number; x: number; y: number } | null = null;
  private pending = "";

  constructor(
    public width: number,
    public height: number,
  ) {}

  resize(width: number, height: number): void {
    const row = this.top + this.y;
    this.width = width;
    this.height = height;
    this.top = Math.max(0, Math.max(this.rows.length, row + 1) - height);
    this.y = Math.max(0, Math.min(height - 1, row - this.top));
    this.x = Math.min(this.x, width - 1);
  }

  write(text: string): void {
    const all = this.pending + text;
    this.pending = "";
    let at = 0;
    while (at < all.length) {
      const char = all[at] ?? "";
      if (char === "\x1b") {
        const used = this.escape(all, at);
        if (!used) {
          this.pending = all.slice(at, at + 4096);
          return;
        }
        at += used;
        continue;
      }
      at += 1;
      if (char >= " " && char !== "\x7f") this.put(char);
      else this.control(char);
    }
  }

  text(): string {
    return this.rows.map((row) => Array.from(row, (char) => char ?? " ").join("").trimEnd()).join("\n");
  }

  /** The cursor's place among all rows. */
  cursor(): { row: number; column: number } {
    return { row: this.top + this.y, column: this.x };
  }

  private row(): Row {
    const index = this.top + this.y;
    while (this.rows.length <= index) this.rows.push([]);
    return this.rows[index] ?? [];
  }

  private put(char: string): void {
    if (this.x >= this.width) {
      this.x = 0;
      this.feed();
    }
    const row = this.row();
    while (row.length < this.x) row.push(" ");
    row[this.x] = char;
    this.x += 1;
  }

  private feed(): void {
    if (this.y < this.height - 1) this.y += 1;
    else {
      this.top += 1;
      const extra = this.rows.length - HISTORY;
      if (extra > 0 && !this.other) {
        this.rows.splice(0, extra);
        this.top -= extra;
      }
    }
    this.row();
  }

  private control(char: string): void {
    if (char === "\n") this.feed();
    else if (char === "\r") this.x = 0;
    else if (char === "\b") this.x = Math.max(0, Math.min(this.x, this.width) - 1);
    else if (char === "\t") this.x = Math.min(this.width - 1, (Math.floor(this.x / 8) + 1) * 8);
  }

  /** Carries out the sequence at `at`; how long it is, 0 while it is not whole. */
  private escape(all: string, at: number): number {
    const kind = all[at + 1];
    if (kind === undefined) return 0;
    if (kind === "[") {
      const found = /^\x1b\[([?>=]?)([0-9;]*)[ -/]*([@-~])/.exec(all.slice(at, at + 64));
      if (!found) return all.length - at > 64 ? 2 : 0;
      this.csi(found[1] ?? "", found[2] ?? "", found[3] ?? "");
      return found[0].length;
    }
    if (kind === "]") {
      const end = /\x07|\x1b\\/.exec(all.slice(at));
      return end ? end.index + end[0].length : all.length - at > 4000 ? 2 : 0;
    }
    if (kind === "(" || kind === ")") return all.length > at + 2 ? 3 : 0;
    if (kind === "7") this.saved = { x: this.x, y: this.y };
    if (kind === "8") ({ x: this.x, y: this.y } = this.saved);
    if (kind === "M") this.y = Math.max(0, this.y - 1);
    if (kind === "c") this.clear();
    return 2;
  }

  private clear(): void {
    this.rows.length = this.top;
    this.y = this.x = 0;
    this.row();
  }

  private csi(mark: string, values: string, letter: string): void {
    const numbers = values.split(";").map(Number);
    const first = numbers[0] ?? 0;
    const n = Math.max(1, first);
    if (mark === "?") {
      if (numbers.includes(1049) || numbers.includes(47)) this.alternate(letter === "h");
      return;
    }
    const bound = (value: number, limit: number) => Math.max(0, Math.min(limit - 1, value));
    if (letter === "A") this.y = bound(this.y - n, this.height);
    else if (letter === "B") this.y = bound(this.y + n, this.height);
    else if (letter === "C") this.x = bound(this.x + n, this.width);
    else if (letter === "D") this.x = bound(this.x - n, this.width);
    else if (letter === "G") this.x = bound(n - 1, this.width);
    else if (letter === "d") this.y = bound(n - 1, this.height);
    else if (letter === "H" || letter === "f") {
      this.y = bound(n - 1, this.height);
      this.x = bound((numbers[1] || 1) - 1, this.width);
    } else if (letter === "J") this.eraseScreen(first);
    else if (letter === "K") this.eraseLine(first);
    else if (letter === "P") this.row().splice(this.x, n);
    else if (letter === "@") this.row().splice(this.x, 0, ...Array<string>(Math.min(n, this.width)).fill(" "));
    else if (letter === "s") this.saved = { x: this.x, y: this.y };
    else if (letter === "u") ({ x: this.x, y: this.y } = this.saved);
  }

  private eraseLine(how: number): void {
    const row = this.row();
    if (how === 0) row.length = Math.min(row.length, this.x);
    else row.fill(" ", 0, how === 1 ? this.x + 1 : row.length);
  }

  private eraseScreen(how: number): void {
    if (how >= 2) {
      for (let index = this.top; index < this.rows.length; index++) this.rows[index] = [];
    } else if (how === 0) {
      this.eraseLine(0);
      this.rows.length = Math.min(this.rows.length, this.top + this.y + 1);
    } else {
      for (let index = this.top; index < this.top + this.y; index++) this.rows[index] = [];
      this.eraseLine(1);
    }
  }

  private alternate(on: boolean): void {
    if (on && !this.other) {
      this.other = { rows: this.rows, top: this.top, x: this.x, y: this.y };
      Object.assign(this, { rows: [[]], top: 0, x: 0, y: 0 });
    } else if (!on && this.other) {
      Object.assign(this, this.other);
      this.other = null;
    }
  }
}

const KEYS: Record<string, string> = {
  Enter: "\r",
  Backspace: "\x7f",
  Tab: "\t",
  Escape: "\x1b",
  ArrowUp: "\x1b[A",
  ArrowDown: "\x1b[B",
  ArrowRight: "\x1b[C",
  ArrowLeft: "\x1b[D",
  Home: "\x1b[H",
  End: "\x1b[F",
  Delete: "\x1b[3~",
  PageUp: "\x1b[5~",
  PageDown: "\x1b[6~",
};

/** What a pressed key sends to the program; empty if nothing. */
export function typed(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "altKey" | "metaKey">): string {
  if (event.metaKey) return "";
  if (event.ctrlKey && /^[a-z[\]\\]$/i.test(event.key)) return String.fromCharCode(event.key.toUpperCase().charCodeAt(0) & 31);
  if (event.ctrlKey) return "";
  const text = KEYS[event.key] ?? (event.key.length === 1 ? event.key : "");
  return text && event.altKey ? `\x1b${text}` : text;
}
