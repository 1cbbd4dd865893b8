import { readFileSync } from 'node:fs';
import test from 'ava';
import { referenceFiles } from './reference.ts';

/* Generated files are up to date in the repository. */

const made = await referenceFiles();
const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

for (const [file, text] of made) {
  test(`${file} is what \`npm run reference\` writes`, (t) => {
    if (file.endsWith('.json')) t.deepEqual(JSON.parse(read(file)), JSON.parse(text));
    else t.is(read(file), text);
  });
}

test('the pages name every option and every command', (t) => {
  const page = (name: string) => made.get(`docs/reference/${name}.md`)?.split('\n') ?? [];
  const options: readonly (readonly [page: string, option: string])[] = [
    ['configuration-server', 'profile'],
    ['configuration-server', 'store.postgres.hosts'],
    ['configuration-issuing', 'certificates.issuers[].state'],
    ['configuration-updater', 'policyDir'],
  ];
  for (const [name, option] of options) {
    t.true(page(name).includes(`${option.includes('.') ? '###' : '##'} \`${option}\``), option);
  }
  const commands: readonly (readonly [page: string, command: string])[] = [
    ['cli', 'signet'],
    ['cli-run-a-server', 'signet serve'],
    ['cli-change-access', 'signet role create'],
    ['cli-domain', 'signet domain create'],
    ['cli-programs', 'signet-updater run'],
  ];
  for (const [name, command] of commands) {
    t.true(page(name).includes(`## \`${command}\``), command);
    if (name !== 'cli') t.regex(page('cli').join('\n'), new RegExp(`^- \\[\`${command}\`\\]\\(${name}\\.md#`, 'm'));
  }
  t.deepEqual(
    [...options, ...commands]
      .flatMap(([name]) => page(name))
      .filter((line) => line.length > 120 && !line.startsWith('- ')),
    [],
  );
});
