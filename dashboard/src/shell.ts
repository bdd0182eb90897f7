// Words as a POSIX shell reads them.

/** A word that means itself; `$HOME/` and `~/` before it keep their meaning, nothing else does. */
export function shellWord(text: string): string {
  const [, home = "", rest = ""] = /^(\$HOME\/|~\/)?([^]*)$/.exec(text) ?? [];
  return home + (/^[\w@%+=:,./-]*$/.test(rest) && text ? rest : `'${rest.replaceAll("'", "'\\''")}'`);
}
