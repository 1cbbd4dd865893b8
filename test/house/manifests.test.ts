import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadProviderConfig } from '@signet/example-provider/provider-config';
import { loadConfig } from '@signet/server/config/config';
import { loadConfig as loadUpdaterConfig } from '@signet/updater/config/config';
import test from 'ava';
import { parse } from 'yaml';
import { z } from 'zod';
import { repository } from '#support/dev-world';

/* The manifests of deploy/kubernetes beside what our programs take; `npm run deploy -w test` has Kubernetes' own schemas judge them. */

const at = (...names: readonly string[]) => join(repository, 'deploy', 'kubernetes', ...names);
const read = (...names: readonly string[]): unknown => parse(readFileSync(at(...names), 'utf8'));

const mount = z.object({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().default(false) });
const container = z.object({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()).optional(),
  args: z.array(z.string()),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(mount),
  livenessProbe: z.object({ httpGet: z.object({ path: z.literal('/healthz') }) }).optional(),
  readinessProbe: z.object({ httpGet: z.object({ path: z.string() }) }).optional(),
});
const workload = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        automountServiceAccountToken: z.literal(false),
        securityContext: z.object({
          runAsNonRoot: z.literal(true),
          runAsUser: z.literal(65_532),
          fsGroup: z.literal(65_532),
        }),
        initContainers: z.array(container.extend({ restartPolicy: z.literal('Always') })).default([]),
        containers: z.array(container),
        volumes: z.array(z.object({ name: z.string() })),
      }),
    }),
    volumeClaimTemplates: z.array(z.object({ metadata: z.object({ name: z.string() }) })).default([]),
  }),
});

const workloads = [
  ['server', 'deployment.yaml'],
  ['single', 'stateful-set.yaml'],
  ['provider', 'deployment.yaml'],
] as const;

for (const [name, file] of workloads) {
  test(`${name}: everything that is named is there, and every container may do little`, (t) => {
    const { spec } = workload.parse(read(name, file));
    const pod = spec.template.spec;
    const volumes = [
      ...pod.volumes.map((each) => each.name),
      ...spec.volumeClaimTemplates.map((each) => each.metadata.name),
    ];
    for (const { image, volumeMounts } of [...pod.initContainers, ...pod.containers]) {
      t.is(image, 'signet');
      for (const each of volumeMounts) t.true(volumes.includes(each.name), each.name);
    }
    const { resources, configMapGenerator } = z
      .object({ resources: z.array(z.string()), configMapGenerator: z.array(z.object({ files: z.array(z.string()) })) })
      .parse(read(name, 'kustomization.yaml'));
    t.true(resources.includes(file));
    for (const each of [...resources, ...configMapGenerator.flatMap(({ files }) => files)])
      t.true(existsSync(at(name, each)), each);
  });
}

/** The mount that a path is in. */
function mountOf(name: string, file: string, path: string, containerName: string) {
  const pod = workload.parse(read(name, file)).spec.template.spec;
  const of = [...pod.initContainers, ...pod.containers].find((each) => each.name === containerName);
  return of?.volumeMounts.find(({ mountPath }) => path.startsWith(`${mountPath}/`));
}

for (const [name, file] of workloads.slice(0, 2)) {
  test(`${name}: the server takes its configuration, whose secrets are mounted and whose data can be written`, (t) => {
    const config = loadConfig(at(name, 'signet.yaml'));
    t.like(config.listen, { host: '0.0.0.0', port: 4443 });
    for (const path of [config.tls.key, config.keys.sealingKeyFile ?? '', config.certificates.issuers[0]?.key ?? '']) {
      t.like(mountOf(name, file, path, 'server'), { name: 'files', readOnly: true }, path);
    }
    t.like(mountOf(name, file, config.dataDir, 'server'), { name: 'data', readOnly: false });
    const [server] = workload.parse(read(name, file)).spec.template.spec.containers;
    t.is(server?.livenessProbe?.httpGet.path, '/healthz');
    t.is(server?.readinessProbe?.httpGet.path, '/readyz');
  });
}

test('provider: updater and service take their configurations, and one writes the policy that the other reads', (t) => {
  const updater = loadUpdaterConfig(at('provider', 'updater.yaml'), {});
  const provider = loadProviderConfig(at('provider', 'provider.yaml'));
  t.is(updater.policyDir, provider.policyDir);
  t.deepEqual(updater.domains, [provider.domain]);
  t.like(mountOf('provider', 'deployment.yaml', updater.policyDir, 'updater'), { name: 'policy', readOnly: false });
  t.like(mountOf('provider', 'deployment.yaml', provider.policyDir, 'provider'), { name: 'policy', readOnly: true });
});
