import type { ApiAnswer, ApiRequest, Call } from '@signet/server/console/api';

/* A management API for pages of the console: one object of each kind, with a given text in every field that takes text. */

/** 2027-01-15, in the middle of a minute. */
export const stubNow = 1_799_971_230_000;

export interface StubCall {
  readonly call: Call;
  /** Every request so far. */
  readonly asked: ApiRequest[];
}

const later = '2027-02-01T10:00:00.000Z';
const earlier = '2027-01-02T10:00:00.000Z';
const digest = 'A'.repeat(43);
const assertion = { effect: 'ALLOW', action: 'read', resource: 'films:film', role: 'films:role.viewer' };
const conditions = {
  conditionsList: [{ conditionsMap: { instances: { operator: 'stringEquals', value: 'h1,h2' } } }],
};
const paths = [
  { kind: 'member', entry: 'user.ann', state: 'counts' },
  { kind: 'group', group: 'media:group.critics', state: 'expired' },
  { kind: 'assumed', from: 'admin' },
  { kind: 'delegated', domain: 'media', from: 'partner' },
];
const through = [{ role: 'viewer', held: true, paths }];

function planOf(text: string) {
  return {
    digest,
    change: [1, 2],
    casesPassed: 1,
    changes: [
      {
        change: 'change',
        kind: 'role',
        domain: 'films',
        name: 'viewer',
        fields: [{ field: 'description', before: text, after: text }],
      },
      { change: 'create', kind: 'member', domain: 'films', name: 'viewer: user.ann' },
      { change: 'delete', kind: 'policy', domain: 'films', name: 'watching version 0' },
    ],
    changesTotal: 4,
    impact: ['gain', 'loss'].map((change) => ({
      change,
      domain: 'films',
      principal: 'user.ann',
      action: { matching: ['read'], except: [] },
      resource: { matching: ['film*'], except: ['film.secret'] },
      contexts: [{ instances: { is: 'h1' } }],
      example: { principal: 'user.ann', action: 'read', resource: 'films:film' },
    })),
    impactTotals: { gains: 3, losses: 2, isExact: false },
    warnings: [{ file: 'films.yaml', line: 1, column: 1, field: '', message: text }],
    refusals: [{ file: 'films.yaml', line: 1, column: 1, field: '', message: text }],
  };
}

/** A change request in one of its states. */
export function stubRequest(text: string, more: Readonly<Record<string, unknown>> = {}) {
  return {
    id: 17,
    kind: 'role',
    state: 'open',
    author: 'user.bob',
    created: earlier,
    expires: later,
    reason: text,
    domains: ['films'],
    needed: 2,
    approvals: [
      { by: 'user.cay', at: earlier, comment: text, current: true },
      { by: 'user.dan', at: earlier, current: false },
    ],
    role: 'films:role.viewer',
    seconds: 3600,
    operation: { method: 'PUT', path: '/domains/films', query: { reason: text }, body: { description: text } },
    files: [{ name: 'films.yaml', text }],
    plan: planOf(text),
    seenByAuthor: false,
    ...more,
  };
}

function brokenGlass(text: string) {
  const { changes } = planOf(text);
  return { changes, undo: changes };
}

const certificate = {
  serial: '6b0af47b8f9d7e382072ab06fbbced8c',
  kind: 'user',
  subject: 'user.ann',
  holder: 'user.ann',
  provider: 'films.api',
  instanceId: 'i-1',
  notBefore: earlier,
  notAfter: later,
  state: 'valid',
};

function changesOf(text: string) {
  const role = { name: 'viewer', description: text };
  const member = { name: 'user.ann', expires: stubNow + 86_400_000, disabled: false };
  const record = { actor: 'user.bob', action: 'change', subject: 'films', reason: text, certificateSerial: 'ab12cd34' };
  return [
    { id: 9, at: earlier, ...record, before: { roles: [] }, after: { roles: [{ ...role, members: [member] }] } },
    {
      id: 8,
      at: earlier,
      actor: 'signet dev',
      action: 'create',
      subject: 'films',
      after: { services: [{ name: 'api' }] },
    },
  ];
}

const explanation = {
  granted: true,
  status: 'ALLOW',
  principal: 'user.ann',
  switchedOff: false,
  roles: through,
  hidden: 2,
  decidedBy: { policy: 'watching', assertion, heldRole: 'viewer' },
  nearMisses: [],
  changes: [],
};
const refusedExplanation = {
  ...explanation,
  granted: false,
  status: 'DENY_NO_MATCH',
  roles: [],
  decidedBy: undefined,
  nearMisses: [
    { policy: 'watching', assertion: { ...assertion, conditions }, misses: ['role', 'action'] },
    { policy: 'watching', assertion, misses: [] },
  ],
  changes: [
    { kind: 'grant-role', domain: 'films', role: 'viewer' },
    { kind: 'add-assertion', domain: 'films', assertion },
    { kind: 'remove-assertion', policy: 'watching', assertion },
  ],
};

/** Answers by the path of the request, as patterns. */
function answers(text: string, asked: ApiRequest): readonly (readonly [pattern: RegExp, body: unknown])[] {
  const list = (...items: readonly unknown[]) => ({ items, next: 'cursor' });
  const viewer = { name: 'viewer', description: text, approvals: 1, requestSeconds: 14_400 };
  const members = ['media.*', { name: 'user.ann', expires: later, review: earlier }, { name: 'x.y', disabled: true }];
  const group = { name: 'critics', description: text, members: [] };
  return [
    [/^domains$/, list('films', 'media')],
    [/^domains\/\w+$/, { name: 'films', description: text, enabled: true, requireReason: true, approvals: 2 }],
    [
      /role-details$/,
      list({ ...viewer, members, more: true }, { name: 'hidden' }, { name: 'partner', trust: 'media' }),
    ],
    [/group-details$/, list(group)],
    [
      /members$/,
      list({ name: 'user.ann', expires: later, review: later }, { name: 'media:group.critics', disabled: true }),
    ],
    [/policies$/, list('watching')],
    [/services$/, list('api')],
    [
      /policies\/watching$/,
      {
        name: 'watching',
        description: text,
        active: '0',
        versions: { 0: [assertion, { ...assertion, effect: 'DENY', conditions }], 1: [] },
      },
    ],
    [/services\/\w+$/, { name: 'api', description: text, enabled: false, publicKeys: { 0: 'PEM' } }],
    [/changes$/, list(...changesOf(text))],
    [/^explanation$/, asked.query?.['action'] === 'read' ? explanation : refusedExplanation],
    [
      /^access$/,
      list(
        { domain: 'films', policy: 'films:policy.watching', id: 1, ...assertion, conditions, through },
        { domain: 'films', policy: 'films:policy.watching', id: 2, ...assertion, denied: true, through },
      ),
    ],
    [
      /^search$/,
      list(
        { domain: 'films', kind: 'role', name: 'viewer', entry: 'user.ann', expires: later },
        { domain: 'films', kind: 'group', name: 'critics', entry: 'user.ann', disabled: true },
        {
          domain: 'films',
          kind: 'assertion',
          name: 'films:policy.watching',
          entry: 'ALLOW read on films:film for films:role.viewer',
        },
      ),
    ],
    [
      /^certificates$/,
      list(certificate, {
        ...certificate,
        serial: 'ff00',
        state: 'revoked',
        revoked: { at: earlier, reason: 'superseded' },
      }),
    ],
    [/^certificates\/\w+$/, certificate],
    [
      /^reviews$/,
      list({ domain: 'films', kind: 'role', name: 'viewer', member: 'user.ann', review: earlier, expires: later }),
    ],
    [
      /^requests$/,
      asked.method === 'POST'
        ? stubRequest(text)
        : list(
            stubRequest(text),
            stubRequest(text, { id: 18, kind: 'documents', state: 'applied', operation: undefined }),
          ),
    ],
    [/^requests\/20$/, stubRequest(text, { state: 'unreviewed', plan: undefined, outcome: brokenGlass(text) })],
    [/^requests\/\d+$/, stubRequest(text)],
    [/^requests\/\d+\/approval$/, stubRequest(text, { state: 'applied' })],
  ];
}

/** A stub whose texts are `text`. `refuse` answers in place of it where it returns something. */
export function stubCall(
  text: string,
  refuse: (asked: ApiRequest) => ApiAnswer | undefined = () => undefined,
): StubCall {
  const asked: ApiRequest[] = [];
  return {
    asked,
    call: async (request) => {
      asked.push(request);
      const refused = refuse(request);
      if (refused !== undefined) return refused;
      const path = request.path.join('/');
      const found = answers(text, request).find(([pattern]) => pattern.test(path));
      return found === undefined
        ? { status: 204, body: undefined }
        : { status: 200, body: JSON.parse(JSON.stringify(found[1])) };
    },
  };
}

/** Every page with what it takes to fill it, as addresses below the session. */
export const stubPages = [
  '',
  'domains',
  'domain?name=films',
  'role?name=films:role.viewer',
  'role?name=films:group.critics',
  'policy?name=films:policy.watching',
  'why',
  'why?principal=user.ann&action=read&resource=films:film',
  'why?principal=user.ann&action=write&resource=films:film',
  'principal?name=user.ann',
  'principal?name=films.api',
  'certificate?serial=6b0af47b8f9d7e382072ab06fbbced8c',
  'requests',
  'requests?state=open',
  'request?id=17&done=requested',
  'request?id=20',
  'reviews',
  'audit?domain=films&since=2027-01-01',
  'search',
  'search?q=user.ann',
  'no-such-page',
] as const;
