import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { parse } from 'yaml';
import { z } from 'zod';
import { repository, signetScript } from '#support/dev-world';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';

/* The pipelines of the guide are YAML that GitHub and GitLab take, and their commands do what the guide says: on a store of their own, with `gh` and
   `curl` that write down what they are given. */

const guide = readFileSync(join(repository, 'docs', 'guides', 'pipeline.md'), 'utf8');
const [planText = '', applyText = '', gitlabText = ''] = [...guide.matchAll(/^```yaml\n(.*?)^```$/gms)].map(
  ([, text = '']) => text,
);

const step = z.strictObject({
  uses: z.string().optional(),
  with: z.record(z.string(), z.unknown()).optional(),
  run: z.string().optional(),
  if: z.string().optional(),
  env: z.record(z.string(), z.string()).optional(),
});
const job = z.strictObject({
  if: z.string().optional(),
  'runs-on': z.tuple([z.literal('self-hosted'), z.literal('signet')]),
  'timeout-minutes': z.int(),
  environment: z.string().optional(),
  env: z.strictObject({ SIGNET_CONFIG: z.string() }),
  steps: z.array(step),
});
const workflow = z.strictObject({
  name: z.string(),
  on: z.record(z.string(), z.unknown()),
  permissions: z.record(z.string(), z.string()),
  concurrency: z.strictObject({ group: z.string() }).optional(),
  jobs: z.record(z.string(), job),
});
const gitlab = z.object({
  'policy-plan': z.object({ script: z.array(z.string()) }),
  'policy-apply': z.object({ script: z.array(z.string()) }),
});

interface Step {
  readonly command: string;
  /** True if it runs after one that failed. */
  readonly always: boolean;
}

function stepsOf(text: string): Step[] {
  const { jobs } = workflow.parse(parse(text));
  return Object.values(jobs).flatMap(({ steps }) =>
    steps.flatMap(({ run, if: when }) => (run === undefined ? [] : [{ command: run, always: when !== undefined }])),
  );
}

const scriptsOf = (name: 'policy-plan' | 'policy-apply') => gitlab.parse(parse(gitlabText))[name].script;

function openWorld(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  for (const name of ['data', 'bin', 'temp']) mkdirSync(join(folder, name));
  cpSync(join(repository, 'policies'), join(folder, 'policies'), { recursive: true });
  writeFileSync(join(folder, 'signet.yaml'), 'tls: { certificate: c.pem, key: k.pem, clientCa: ca.pem }\n');
  const program = (name: string, text: string) =>
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  program('signet', `exec '${process.execPath}' '${signetScript}' "$@"`);
  program('gh', `echo "$*" >> "$RUNNER_TEMP/gh"\ncat "$RUNNER_TEMP/plan.md" >> "$RUNNER_TEMP/comments"`);
  program('curl', `echo "$*" >> "$RUNNER_TEMP/curl"\ncat plan.md >> "$RUNNER_TEMP/comments"`);
  const temp = (name: string) => join(folder, 'temp', name);
  const env = {
    ...process.env,
    PATH: [join(folder, 'bin'), process.env['PATH']].join(delimiter),
    SIGNET_CONFIG: join(folder, 'signet.yaml'),
    RUNNER_TEMP: join(folder, 'temp'),
    GITHUB_STEP_SUMMARY: temp('summary'),
    GITHUB_REPOSITORY: 'group/policies',
    GITHUB_SHA: 'abc',
    PULL_REQUEST: '7',
    CI_API_V4_URL: 'https://gitlab.example/api/v4',
    CI_PROJECT_ID: '3',
    CI_MERGE_REQUEST_IID: '7',
    CI_PROJECT_PATH: 'group/policies',
    CI_COMMIT_SHA: 'def',
    PLAN_TOKEN: 'secret',
  };
  const bash = (text: string) => runProgram('/bin/bash', ['-euo', 'pipefail', '-c', text], { cwd: folder, env });
  /** Runs steps like a runner: after a failure only those that ask for it. Returns true if all succeeded. */
  const run = async (steps: readonly Step[]) => {
    let isFine = true;
    for (const { command, always } of steps) {
      if (isFine || always) isFine = (await bash(command)).status === 0 && isFine;
    }
    return isFine;
  };
  const read = (name: string) => (existsSync(temp(name)) ? readFileSync(temp(name), 'utf8') : '');
  return { folder, run, bash, read };
}

test('the workflows are those of GitHub, with actions by their commit and the rights that they need', (t) => {
  const [plan, apply] = [workflow.parse(parse(planText)), workflow.parse(parse(applyText))];
  t.deepEqual(plan.permissions, { contents: 'read', 'pull-requests': 'write' });
  t.deepEqual(apply.permissions, { contents: 'read' });
  const uses = [plan, apply].flatMap(({ jobs }) =>
    Object.values(jobs).flatMap(({ steps }) => steps.flatMap((one) => one.uses ?? [])),
  );
  t.is(uses.length, 2);
  for (const each of uses) t.regex(each, /^actions\/checkout@[0-9a-f]{40}$/);
  t.deepEqual(Object.keys(plan.on), ['pull_request_target']);
});

test('GitHub: a comment with the plan, and what is merged is applied', async (t) => {
  const { folder, run, bash, read } = openWorld(t);
  await bash('signet apply policies');
  appendFileSync(join(folder, 'policies', 'media.yaml'), '  radio: {}\n');
  t.true(await run(stepsOf(planText)));
  t.regex(read('gh'), /^pr comment 7 --edit-last --create-if-none --body-file .*plan\.md\n$/);
  const summary = '### Signet plan: 1 to add, 0 to change, 0 to remove; no principal gains or loses access\n';
  t.true(read('comments').startsWith(summary));
  t.true(await run(stepsOf(applyText)));
  t.true(read('summary').startsWith(summary));
  t.true((await bash('signet audit list --subject media --json')).stdout.includes('group/policies abc'));
});

test('GitHub: a plan that is refused fails, and the comment says why', async (t) => {
  const { folder, run, bash, read } = openWorld(t);
  await bash('signet apply policies');
  const file = join(folder, 'policies', 'catalog.yaml');
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace('[media.player, media.studio]', '[media.player, media.studoi]'),
  );
  t.false(await run(stepsOf(planText)));
  const comment = read('comments');
  t.regex(
    comment,
    /^\*\*`signet apply` would refuse this: 1\*\*\n\n```diff\n- policies\/catalog\.yaml:9:29: .* did you mean/m,
  );
  t.regex(comment, /^### Signet plan: /);
});

test('a link among the documents is refused before anything reads it', async (t) => {
  const { folder, run, bash, read } = openWorld(t);
  symlinkSync('/etc/passwd', join(folder, 'policies', 'passwd.yaml'));
  t.false(await run(stepsOf(planText).slice(0, -1)));
  t.is(read('comments'), '');
  t.is((await bash(scriptsOf('policy-plan').join('\n'))).status, 1);
});

test('GitLab: a note with the plan, its status, and what is merged is applied', async (t) => {
  const { folder, bash, read } = openWorld(t);
  t.is((await bash(scriptsOf('policy-apply').join('\n'))).status, 0);
  const file = join(folder, 'policies', 'catalog.yaml');
  t.is((await bash(scriptsOf('policy-plan').join('\n'))).status, 0);
  t.regex(
    read('curl'),
    /--data-urlencode body@plan\.md https:\/\/gitlab\.example\/api\/v4\/projects\/3\/merge_requests\/7\/notes\n$/,
  );
  writeFileSync(file, readFileSync(file, 'utf8').replace('domain: catalog', 'domain: catalogs'));
  t.is((await bash(scriptsOf('policy-plan').join('\n'))).status, 1);
  const [, second = ''] = read('comments').split('### Signet plan: nothing would change\n');
  t.regex(second, /### Signet plan: problems in the documents: 1\n/);
});
