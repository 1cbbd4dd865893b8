import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { z } from 'zod';
import { repository } from '#support/dev-world';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';

/* Actions of others in workflows are named by commit, since a tag can be moved, and have only the rights that they need. */

const folder = join(repository, '.github', 'workflows');
const workflow = z.object({
  permissions: z.strictObject({ contents: z.literal('read') }),
  jobs: z.record(z.string(), z.object({ steps: z.array(z.object({ uses: z.string().optional() })) })),
});

for (const name of globSync('*.yml', { cwd: folder })) {
  test(`${name} names every action by its commit, and its version beside it`, (t) => {
    const text = readFileSync(join(folder, name), 'utf8');
    const { jobs } = workflow.parse(parse(text));
    const used = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ uses }) => uses ?? []));
    t.true(used.length > 0);
    for (const each of used) {
      t.regex(each, /^[\w-]+\/[\w/-]+@[0-9a-f]{40}$/);
      t.regex(text, new RegExp(`uses: ${each} # v\\d+\\.\\d+\\.\\d+$`, 'm'));
    }
  });
}

const nothing = { audit: '{ "metadata": {}, "vulnerabilities": {} }', signatures: '{ "invalid": [] }' };

for (const [what, said, status, lines] of [
  [
    'knows of nothing',
    nothing,
    0,
    ['audit: 0 known vulnerabilities that are high or critical', 'signatures: 0 are wrong'],
  ],
  [
    'knows of a moderate one and of a high one',
    {
      ...nothing,
      audit:
        '{ "metadata": {}, "vulnerabilities": { "a": { "name": "a", "severity": "moderate", "range": "<1" }, "b": { "name": "b", "severity": "high", "range": "<2" } } }',
    },
    1,
    ['audit: b <2: high', 'audit: 1 known vulnerabilities that are high or critical', 'signatures: 0 are wrong'],
  ],
  [
    'finds a package that is not as it was signed',
    { ...nothing, signatures: '{ "invalid": [{ "name": "a", "version": "1.0.0" }] }' },
    1,
    [
      'audit: 0 known vulnerabilities that are high or critical',
      'signatures: a@1.0.0 is not as it was signed',
      'signatures: 1 are wrong',
    ],
  ],
  [
    'does not answer',
    { audit: '{ "error": { "summary": "" } }', signatures: '' },
    0,
    [
      'audit: skipped, the registry does not say what is known of vulnerabilities',
      'signatures: skipped, the registry has no keys to check them with',
    ],
  ],
] as const) {
  test(`.ci/audit ends with ${status} when the registry ${what}`, async (t) => {
    const bin = temporaryFolder(t);
    const script = `#!/bin/sh\n[ "$2" = signatures ] && echo '${said.signatures}' || echo '${said.audit}'\nexit 1\n`;
    writeFileSync(join(bin, 'npm'), script, { mode: 0o755 });
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH']}` };
    const finished = await runProgram(join(repository, '.ci', 'audit'), [], { env });
    t.deepEqual(finished, { status, stdout: `${lines.join('\n')}\n`, stderr: '' });
  });
}
