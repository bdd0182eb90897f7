// The editor is loaded when first shown: the first page does not wait for it.
import type { ComponentProps, FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../i18n";
import type YamlEditor from "./yaml";

type Editor = FunctionComponent<ComponentProps<typeof YamlEditor>>;
let loaded: Editor | null = null;

export function Yaml(props: ComponentProps<typeof YamlEditor>) {
  const [Found, setFound] = useState<Editor | null>(() => loaded);
  useEffect(() => {
    if (!Found) {
      void import("./yaml").then((module) => {
        loaded = module.default;
        setFound(() => module.default);
      });
    }
  }, []);
  return Found ? <Found {...props} /> : <p class="loading">{t("Loading…")}</p>;
}
