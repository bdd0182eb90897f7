// Starts the dashboard: the session first, then the page that was asked for.
import { render } from "preact";
import { App } from "./app";
import { openSession, Refused } from "./api";
import "./style/index.css";

const root = document.getElementById("app");
if (root) {
  render(<App failed={null} />, root);
  openSession().catch((failed: Error) => {
    if (!(failed instanceof Refused && failed.code === 401)) render(<App failed={failed} />, root);
  });
}
