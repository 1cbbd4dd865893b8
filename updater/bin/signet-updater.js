#!/usr/bin/env node
// Nothing is imported before the check, and nothing newer than Node 12 is written here: an older Node has to get as far as the message.
if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `signet-updater needs Node.js 24 or newer, this is ${process.versions.node}: install it, or use npx or npm run in a checkout\n`,
  );
  process.exitCode = 2;
} else {
  void import('./start.js');
}
