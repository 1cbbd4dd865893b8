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
  const configuration = page('configuration');
  for (const option of ['profile', 'certificates.issuers[].state', 'store.postgres.hosts', 'policyDir']) {
    t.true(configuration.includes(`${option.includes('.') ? '####' : '###'} \`${option}\``), option);
  }
  const commands = page('cli');
  for (const command of ['signet', 'signet serve', 'signet domain create', 'signet-updater run']) {
    t.true(commands.includes(`### \`${command}\``), command);
  }
  t.deepEqual(
    [...configuration, ...commands].filter((line) => line.length > 120 && !line.startsWith('- ')),
    [],
  );
});
