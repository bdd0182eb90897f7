"""What is wrong with a control plane, and how to mend it: `findings` are facts judged, `look` reads them."""
