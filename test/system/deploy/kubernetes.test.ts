import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { parseAllDocuments } from 'yaml';
import { repository } from '#support/dev-world';

/* Output of kustomize for deploy/kubernetes, read with the schemas of Kubernetes. Needs `npm ci` in deploy/tools. */

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

const tools = join(repository, 'deploy', 'tools');
const models = join(tools, 'node_modules', 'kubernetes-models');
const hindrance = !existsSync(models)
  ? 'the tools are not installed: npm ci --prefix deploy/tools'
  : spawnSync('kubectl', ['kustomize', '--help']).status === 0
    ? undefined
    : 'kubectl is not on this machine';

function made(name: string): Manifest[] {
  const folder = join(repository, 'deploy', 'kubernetes', name);
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).map((document) => document.toJS());
}

/** Rejects with what the schema of its kind says against a manifest. */
async function validate(manifest: Manifest): Promise<void> {
  const { apiVersion, kind } = manifest;
  const { [kind]: Model } = await import(pathToFileURL(join(models, apiVersion, `${kind}.js`)).href);
  new Model(manifest).validate();
}

function skipped(t: ExecutionContext): boolean {
  if (hindrance !== undefined) t.log(`skipped: ${hindrance}`);
  return hindrance !== undefined;
}

for (const [name, kinds] of [
  ['server', ['ConfigMap', 'Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'Service']],
  ['single', ['ConfigMap', 'NetworkPolicy', 'Service', 'StatefulSet']],
  ['provider', ['ConfigMap', 'Deployment', 'Service']],
] as const) {
  test(`${name}: what kustomize makes is what Kubernetes takes`, async (t) => {
    if (skipped(t)) return t.pass();
    const manifests = made(name);
    t.deepEqual(manifests.map(({ kind }) => kind).toSorted(), [...kinds]);
    for (const manifest of manifests)
      await t.notThrowsAsync(() => validate(manifest), `${manifest.kind} ${manifest.metadata.name}`);
    // It finds what is wrong.
    const [first] = manifests.filter(({ kind }) => kind === 'Service');
    await t.throwsAsync(() => validate({ ...first, spec: { ports: 'none' } } as unknown as Manifest));
  });
}
