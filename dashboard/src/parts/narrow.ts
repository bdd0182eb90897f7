// Whether the screen is a small one.
import { useEffect, useState } from "preact/hooks";

const small = matchMedia("(max-width: 720px)");

export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(small.matches);
  useEffect(() => {
    const changed = () => setNarrow(small.matches);
    small.addEventListener("change", changed);
    return () => small.removeEventListener("change", changed);
  }, []);
  return narrow;
}
