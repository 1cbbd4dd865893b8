// Packs every package for a release: node deploy/release/pack.js FOLDER
// Nothing is imported before the check, and nothing newer than Node 12 is written here: an older Node has to get as far as the message.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 2)) {
  process.stderr.write(
    `packing needs Node.js 24 or newer, this is ${process.versions.node}: install it, or use \`npx node deploy/release/pack.js FOLDER\` after \`npm ci\`\n`,
  );
  process.exitCode = 2;
} else {
  void import('./pack.ts').then(({ packInto }) => packInto(process.argv.slice(2)));
}
