/* Where each page of the site stands: learning, doing, looking up, understanding. */

/** A page by its path below `docs/` without `.md`, and its name in the sidebar. */
export type Page = readonly [path: string, name: string];

export interface Section {
  readonly name: string;
  readonly pages: readonly Page[];
}

export const sections: readonly Section[] = [
  {
    name: 'Tutorial',
    pages: [
      ['tutorial/try-it', 'Try it'],
      ['tutorial/protect-a-service', 'Protect a service'],
      ['playground', 'Playground'],
    ],
  },
  {
    name: 'Guides',
    pages: [
      ['guides/README', 'All guides'],
      ['guides/first-server', 'A first server'],
      ['guides/operator', 'Change access safely'],
      ['guides/console', 'The console'],
      ['guides/documents', 'Documents in git'],
      ['guides/mistakes', 'Typical mistakes'],
      ['guides/approvals', 'Request and approve'],
      ['guides/pipeline', 'Policy in a pipeline'],
      ['guides/frameworks', 'Protect routes in your framework'],
      ['guides/identities', 'Certificates of machines'],
      ['guides/people', 'Certificates of people'],
      ['guides/standard-clients', 'Standard OAuth clients'],
      ['guides/cloud-credentials', 'AWS credentials'],
      ['guides/coming-from-athenz', 'Coming from Athenz'],
    ],
  },
  {
    name: 'Running it',
    pages: [
      ['guides/install', 'Install'],
      ['guides/kubernetes', 'Kubernetes'],
      ['guides/production', 'Production'],
      ['guides/several-servers', 'Several servers'],
      ['guides/rollover', 'Replace keys and authorities'],
      ['guides/backup', 'Backup and disaster'],
      ['guides/upgrade', 'Upgrade'],
      ['guides/move-the-store', 'Move the store'],
      ['guides/when-the-store-fails', 'When the store fails'],
      ['guides/monitoring', 'Monitoring'],
      ['guides/traces', 'Traces'],
      ['guides/operator-mistakes', 'Mistakes at the command line'],
      ['guides/runbook', 'Runbook'],
    ],
  },
  {
    name: 'Concepts',
    pages: [
      ['concepts/overview', 'Who talks to whom'],
      ['concepts/comparison', 'Comparison'],
      ['concepts/faq', 'Questions'],
      ['concepts/glossary', 'Glossary'],
      ['architecture', 'Architecture of the code'],
    ],
  },
  {
    name: 'Reference',
    pages: [
      ['reference/README', 'Overview'],
      ['reference/configuration', 'Configuration'],
      ['reference/configuration-server', 'signet.yaml: the server'],
      ['reference/configuration-issuing', 'signet.yaml: tokens, certificates'],
      ['reference/configuration-updater', 'updater.yaml'],
      ['reference/cli', 'Command line'],
      ['reference/cli-run-a-server', 'Commands: run a server'],
      ['reference/cli-change-access', 'Commands: change access'],
      ['reference/cli-domain', 'Commands: signet domain'],
      ['reference/cli-policy', 'Commands: signet policy'],
      ['reference/cli-ask-about-access', 'Commands: ask about access'],
      ['reference/cli-get-tokens-and-certificates', 'Commands: tokens and certificates'],
      ['reference/cli-keys-authorities-and-certificates', 'Commands: keys and authorities'],
      ['reference/cli-for-other-programs', 'Commands: for other programs'],
      ['reference/cli-programs', 'Other programs'],
      ['reference/operations-tokens', 'Operations: tokens'],
      ['reference/operations-access', 'Operations: access'],
      ['reference/operations-certificates', 'Operations: certificates'],
      ['reference/operations-management', 'Operations: management'],
      ['reference/operations-management-roles', 'Operations: roles'],
      ['reference/operations-management-groups', 'Operations: groups'],
      ['reference/operations-management-policies', 'Operations: policies'],
      ['reference/operations-management-services', 'Operations: services'],
      ['reference/operations-server', 'Operations: server'],
      ['reference/schemas', 'Schemas of the operations'],
      ['reference/openapi', 'OpenAPI'],
      ['reference/policy-engine/README', 'API of the engine'],
      ['reference/client/README', 'API of the client'],
      ['reference/decisions', 'Statuses of the engine'],
      ['reference/http', 'HTTP and errors'],
      ['reference/metrics', 'Metrics'],
      ['reference/logs', 'Logs'],
      ['reference/names', 'Names'],
      ['reference/authentication', 'Authentication'],
      ['reference/tokens', 'Tokens'],
      ['reference/access-checks', 'Access checks'],
      ['reference/certificates', 'Certificates'],
      ['reference/cloud-credentials', 'Cloud credentials'],
      ['reference/policy-bundles', 'Policy bundles'],
      ['reference/protected-services', 'Protected services'],
      ['reference/athenz', 'The profile athenz'],
      ['reference/conformance', 'Conformance'],
      ['reference/conformance-tokens', 'Conformance: tokens'],
      ['reference/conformance-certificates-http', 'Conformance: certificates, HTTP'],
    ],
  },
  {
    name: 'Project',
    pages: [
      ['project/policy-engine', 'Package: policy engine'],
      ['project/client', 'Package: client'],
      ['project/example-provider', 'Example provider'],
      ['project/contributing', 'Contributing'],
      ['project/security', 'Security'],
      ['decisions/README', 'Decisions'],
    ],
  },
];

/** Files outside of `docs/` that the site shows, each with its page. */
export const shown: Readonly<Record<string, string>> = {
  'policy-engine/README.md': 'project/policy-engine.md',
  'client/README.md': 'project/client.md',
  'example-provider/README.md': 'project/example-provider.md',
  'CONTRIBUTING.md': 'project/contributing.md',
  'SECURITY.md': 'project/security.md',
};

/** Files that the site offers as they are, each with its address. */
export const served: Readonly<Record<string, string>> = {
  'docs/openapi.json': 'openapi.json',
  'docs/pictures/change.svg': 'change.svg',
  'deploy/grafana/signet.json': 'grafana.json',
  'deploy/prometheus/rules.test.yaml': 'rules.test.yaml',
};
