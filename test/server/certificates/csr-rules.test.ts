import {
  type DomainName,
  parseDomainName,
  parsePathElement,
  parsePrincipalName,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import { InvalidRequestError } from '@signet/server/errors';
import { athenzForms } from '@signet/server/x509/athenz-forms';
import { parseCertificateRequest } from '@signet/server/x509/csr';
import {
  grantInstanceNames,
  grantRoleNames,
  grantServiceNames,
  type ServiceGrants,
} from '@signet/server/x509/csr-rules';
import { relativeName } from '@signet/server/x509/distinguished-name';
import { signetForms } from '@signet/server/x509/name-forms';
import type { NamingRules } from '@signet/server/x509/naming';
import { oids } from '@signet/server/x509/oids';
import test from 'ava';
import { isNoName } from '#support/invalid-name';
import { ecPair, type RequestedName, type RequestShape, requestPem } from '#support/requests';

const pair = ecPair();
const rules: NamingRules = { trustDomain: 'signet.test', dnsSuffix: 'signet.test', forms: signetForms };
const athenz: NamingRules = { ...rules, forms: athenzForms(['signet.test', 'athenz.cloud']) };
const domain = parseDomainName('media.video');
const service = parseServiceName('player');
const grants: ServiceGrants = {
  mayUseSuffix: (suffix) => suffix === 'prov.example.com',
  hostname: 'h1.hosts.example.com',
  address: '0a000001',
  addressFault: () => undefined,
  dnsForm: 'media-video',
};
const spiffe: RequestedName = ['uri', 'spiffe://signet.test/ns/default/sa/media.video.player'];
const id: RequestedName = ['dns', 'i-1.instanceid.signet.test'];

function request(shape: RequestShape) {
  return parseCertificateRequest(requestPem(pair, { commonNames: ['media.video.player'], ...shape }));
}

function instance(shape: RequestShape, given: NamingRules = rules, instanceId?: string) {
  return grantInstanceNames(
    request(shape),
    {
      domain,
      service,
      provider: 'sys.cloud',
      instanceId: instanceId === undefined ? undefined : parsePathElement(instanceId),
    },
    given,
    grants,
  );
}

const accepted: readonly (readonly [
  name: string,
  asked: readonly RequestedName[] | undefined,
  expected: readonly string[],
  given?: NamingRules,
  id?: string,
])[] = [
  [
    'the two names of every instance',
    [spiffe, id],
    [
      'uri:spiffe://signet.test/ns/default/sa/media.video.player',
      'dns:i-1.player.media-video.sys-cloud.instanceid.signet.test',
    ],
  ],
  [
    'the id alone: the SPIFFE id is put first',
    [id],
    [
      'uri:spiffe://signet.test/ns/default/sa/media.video.player',
      'dns:i-1.player.media-video.sys-cloud.instanceid.signet.test',
    ],
  ],
  [
    'the name of now, with the id in it',
    [spiffe, ['dns', 'i-1.player.media-video.sys-cloud.instanceid.signet.test']],
    [
      'uri:spiffe://signet.test/ns/default/sa/media.video.player',
      'dns:i-1.player.media-video.sys-cloud.instanceid.signet.test',
    ],
  ],
  [
    'no names, and the id from elsewhere',
    undefined,
    [
      'uri:spiffe://signet.test/ns/default/sa/media.video.player',
      'dns:i-1.player.media-video.sys-cloud.instanceid.signet.test',
    ],
    rules,
    'i-1',
  ],
  [
    'the service below the suffixes of server and provider, the stated host, the own address',
    [
      spiffe,
      id,
      ['dns', 'player.media.video.signet.test'],
      ['dns', 'player.media-video.prov.example.com'],
      ['dns', 'h1.hosts.example.com'],
      ['ip', Buffer.of(10, 0, 0, 1)],
    ],
    [
      'uri:spiffe://signet.test/ns/default/sa/media.video.player',
      'dns:i-1.player.media-video.sys-cloud.instanceid.signet.test',
      'dns:player.media.video.signet.test',
      'dns:player.media-video.prov.example.com',
      'dns:h1.hosts.example.com',
      'ip:0a000001',
    ],
  ],
  [
    'athenz: the id as a uri, a wildcard and any name below the suffix of the provider',
    [
      ['uri', 'athenz://instanceid/sys.cloud/i-1'],
      ['dns', '*.player.media-video.prov.example.com'],
      ['dns', 'x.prov.example.com'],
    ],
    ['uri:athenz://instanceid/sys.cloud/i-1', 'dns:*.player.media-video.prov.example.com', 'dns:x.prov.example.com'],
    athenz,
  ],
  [
    'athenz: the older SPIFFE form',
    [
      ['uri', 'spiffe://media.video/sa/player'],
      ['dns', 'i-1.instanceid.athenz.prov.example.com'],
    ],
    ['uri:spiffe://media.video/sa/player', 'dns:i-1.instanceid.athenz.prov.example.com'],
    athenz,
  ],
  [
    'athenz: the id from elsewhere alone',
    [spiffe],
    [
      'uri:spiffe://signet.test/ns/default/sa/media.video.player',
      'dns:i-1.player.media-video.sys-cloud.instanceid.signet.test',
    ],
    athenz,
    'i-1',
  ],
];
for (const [name, asked, expected, given, instanceId] of accepted) {
  test(`instance: ${name}`, (t) => {
    const granted = instance(asked === undefined ? {} : { altNames: asked }, given, instanceId);
    t.deepEqual(
      granted.altNames.map(({ kind, value }) => `${kind}:${value}`),
      expected,
    );
    t.is(granted.instanceId, 'i-1' as typeof granted.instanceId);
    t.is(granted.commonName, 'media.video.player');
  });
}

const refused: readonly (readonly [
  name: string,
  shape: RequestShape,
  rule: string | RegExp,
  given?: NamingRules,
  id?: string,
])[] = [
  [
    'another common name',
    { commonNames: ['media.video.admin'], altNames: [spiffe, id] },
    'csr common name must be `media.video.player`',
  ],
  [
    'a common name in capitals',
    { commonNames: ['media.video.PLAYER'], altNames: [spiffe, id] },
    'csr common name must be `media.video.player`',
  ],
  [
    'more in the subject',
    { moreSubject: [relativeName(oids.organization, 'Evil')], altNames: [spiffe, id] },
    'csr subject may hold only the common name',
  ],
  ['no instance id', { altNames: [spiffe] }, 'csr must carry the instance id, or `x509CertInstanceId` state it'],
  [
    'two instance ids',
    { altNames: [id, ['dns', 'i-2.instanceid.signet.test']] },
    'csr names more than one instance id',
  ],
  ['another instance id than the path', { altNames: [id] }, 'csr instance id `i-1` is not `i-2`', rules, 'i-2'],
  [
    'the form of an instance id of the profile athenz',
    { altNames: [spiffe, ['dns', 'i-1.instanceid.athenz.prov.example.com']] },
    'csr must carry the instance id, or `x509CertInstanceId` state it',
  ],
  [
    'an instance id below another suffix',
    { altNames: [['dns', 'i-1.instanceid.evil.test']] },
    /^csr must carry the instance id|may hold$/,
  ],
  [
    'an instance id that is not a name',
    { altNames: [['dns', '*.instanceid.signet.test']] },
    `csr instance id ${isNoName('PathElement')}`,
  ],
  [
    'the name of an instance of another domain',
    { altNames: [['dns', 'i-1.player.media.sys-cloud.instanceid.signet.test']] },
    'csr instance id `i-1.player.media.sys-cloud` is not `i-1`',
    rules,
    'i-1',
  ],
  [
    'a hash, of which nobody can tell the id',
    { altNames: [['dns', `sha256-${'a'.repeat(52)}.player.media-video.sys-cloud.instanceid.signet.test`]] },
    'csr holds the hash of an instance id: state it in `x509CertInstanceId`',
  ],
  [
    'the area of instance names itself',
    { altNames: [spiffe, ['dns', 'instanceid.signet.test']] },
    /may hold$|^csr must carry/,
  ],
  [
    "athenz: a name of an instance below a suffix that is not its provider's",
    {
      altNames: [
        ['uri', 'athenz://instanceid/sys.cloud/i-1'],
        ['dns', 'i-1.instanceid.athenz.x.prov.example.com'],
      ],
    },
    /may hold$/,
    athenz,
  ],
  [
    'the id as the profile athenz writes it, in the other profile',
    { altNames: [spiffe, ['dns', 'i-1.instanceid.athenz.signet.test']] },
    /may hold$|^csr must carry/,
  ],
  [
    'the id as the profile athenz writes it, in the other profile, where the id is known',
    { altNames: [spiffe, ['dns', 'i-1.instanceid.athenz.signet.test']] },
    /may hold$/,
    rules,
    'i-1',
  ],
  [
    'the same below the suffix of the provider',
    { altNames: [spiffe, ['dns', 'i-1.instanceid.athenz.prov.example.com']] },
    /may hold$/,
    rules,
    'i-1',
  ],
  [
    'athenz: a wildcard below the own suffix, where a service of a domain below would be',
    {
      altNames: [
        ['uri', 'athenz://instanceid/sys.cloud/i-1'],
        ['dns', '*.player.media-video.signet.test'],
      ],
    },
    /may hold$/,
    athenz,
  ],
  [
    'a SPIFFE id of another service',
    { altNames: [['uri', 'spiffe://signet.test/ns/default/sa/media.video.admin'], id] },
    /is not `spiffe:\/\/signet.test\/ns\/default\/sa\/media.video.player`$/,
  ],
  [
    'a SPIFFE id of another trust domain',
    { altNames: [['uri', 'spiffe://evil.test/ns/default/sa/media.video.player'], id] },
    /is not `spiffe/,
  ],
  [
    'a SPIFFE id in capitals',
    { altNames: [['uri', 'spiffe://Signet.test/ns/default/sa/media.video.player'], id] },
    /is not `spiffe/,
  ],
  ['a second SPIFFE id', { altNames: [spiffe, ['uri', 'spiffe://media.video/sa/player'], id] }, /is not `spiffe/],
  ['the same name twice', { altNames: [spiffe, spiffe, id] }, /^csr asks for the uri name .* twice$/],
  [
    'athenz: two SPIFFE ids',
    { altNames: [spiffe, ['uri', 'spiffe://media.video/sa/player'], ['dns', 'i-1.instanceid.athenz.signet.test']] },
    'csr asks for more than one spiffe uri',
    athenz,
  ],
  ['an athenz uri', { altNames: [spiffe, id, ['uri', 'athenz://instanceid/sys.cloud/i-1']] }, /is not `spiffe/],
  [
    'athenz: an id of another provider',
    { altNames: [['uri', 'athenz://instanceid/sys.other/i-1']] },
    'csr uri name `athenz://instanceid/sys.other/i-1` is of another provider than `sys.cloud`',
    athenz,
  ],
  ['a DNS name of another service', { altNames: [spiffe, id, ['dns', 'admin.media.video.signet.test']] }, /may hold$/],
  [
    'a DNS name that only ends like the suffix',
    { altNames: [spiffe, id, ['dns', 'player.media-video.evilprov.example.com']] },
    /may hold$/,
  ],
  [
    'a DNS name with the suffix in the middle',
    { altNames: [spiffe, id, ['dns', 'player.media-video.prov.example.com.evil.com']] },
    /may hold$/,
  ],
  ['any name below the suffix of the provider', { altNames: [spiffe, id, ['dns', 'x.prov.example.com']] }, /may hold$/],
  ['a wildcard', { altNames: [spiffe, id, ['dns', '*.player.media-video.prov.example.com']] }, /may hold$/],
  [
    'athenz: a wildcard over a whole suffix',
    {
      altNames: [
        ['uri', 'athenz://instanceid/sys.cloud/i-1'],
        ['dns', '*.prov.example.com'],
      ],
    },
    /may hold$/,
    athenz,
  ],
  [
    'another address',
    { altNames: [spiffe, id, ['ip', Buffer.of(10, 0, 0, 2)]] },
    'csr ip name `10.0.0.2` is not the address that the request comes from',
  ],
  ['an email address', { altNames: [spiffe, id, ['email', 'a@b.c']] }, 'csr email name `a@b.c` is not for services'],
  [
    'a directory name',
    { altNames: [spiffe, id, ['directory', Buffer.from('3000', 'hex')]] },
    'csr asks for an alternative name of a kind that is never given',
  ],
];
for (const [name, shape, rule, given, instanceId] of refused) {
  test(`instance refused: ${name}`, (t) => {
    const expected = typeof rule === 'string' ? { message: rule } : { message: rule };
    t.throws(() => instance(shape, given, instanceId), { instanceOf: InvalidRequestError, ...expected });
  });
}

test('a common name of 65 characters is refused, one of 64 is not', (t) => {
  for (const [length, ok] of [
    [64, true],
    [65, false],
  ] as const) {
    const long = 'd'.repeat(length - 2) as DomainName;
    const act = () =>
      grantServiceNames(
        request({ commonNames: [`${long}.s`] }),
        { domain: long, service: parseServiceName('s') },
        rules,
        grants,
      );
    if (ok) t.is(act().commonName.length, 64);
    else t.throws(act, { message: /^csr common name would have more than 64 characters/ });
  }
});

/* Suffixes that operators give freely must not lead into the names of others. */
const everySuffix: ServiceGrants = { ...grants, mayUseSuffix: () => true, addressFault: () => 'needs a right' };
const ownNames: readonly (readonly [
  name: string,
  asked: RequestedName,
  given: ServiceGrants,
  outcome: true | RegExp,
])[] = [
  ['the dashed form, with the right', ['dns', 'player.media-video.signet.test'], everySuffix, true],
  ['the dashed form, without', ['dns', 'player.media-video.signet.test'], grants, /may hold$/],
  ['the own form', ['dns', 'player.media.video.signet.test'], grants, true],
  [
    'a domain without a form',
    ['dns', 'player.media.video.signet.test'],
    { ...grants, dnsForm: undefined },
    /may hold$/,
  ],
  [
    'a domain without a form, below a suffix of its provider',
    ['dns', 'player.media-video.prov.example.com'],
    { ...grants, dnsForm: undefined },
    /may hold$/,
  ],
  [
    'a suffix that makes another domain of it',
    ['dns', 'player.media-video.core.signet.test'],
    everySuffix,
    /may hold$/,
  ],
  [
    'an address without a right',
    ['ip', Buffer.of(10, 0, 0, 1)],
    everySuffix,
    /^csr ip name `10\.0\.0\.1` needs a right$/,
  ],
];
for (const [name, asked, given, outcome] of ownNames) {
  test(`service names: ${name}`, (t) => {
    const act = () => grantServiceNames(request({ altNames: [asked] }), { domain, service }, rules, given);
    if (outcome === true) t.is(act().altNames.length, 2);
    else t.throws(act, { instanceOf: InvalidRequestError, message: outcome });
  });
}

for (const [what, name] of [
  ['of another service', 'api.catalog.Signet.test'],
  ['of an instance', 'i-9.api.catalog.sys-cloud.instanceid.signet.TEST'],
  ['of an instance as it was', 'i-9.INSTANCEID.signet.test'],
  ['of the token server', 'Tokens.example.com'],
] as const) {
  test(`athenz: a name ${what} is refused in capitals as well, below a suffix that is the provider's`, (t) => {
    const all = { ...everySuffix, isServerHost: (host: string) => host === 'tokens.example.com' };
    for (const spelled of [name, name.toLowerCase()]) {
      const asked = request({
        altNames: [
          ['uri', 'athenz://instanceid/sys.cloud/i-1'],
          ['dns', spelled],
        ],
      });
      t.throws(() => grantInstanceNames(asked, { domain, service, provider: 'sys.cloud' }, athenz, all), {
        instanceOf: InvalidRequestError,
      });
    }
    const other = request({
      altNames: [
        ['uri', 'athenz://instanceid/sys.cloud/i-1'],
        ['dns', 'X.example.com'],
      ],
    });
    t.notThrows(() => grantInstanceNames(other, { domain, service, provider: 'sys.cloud' }, athenz, all));
  });
}

test('no service gets a DNS name that could be an instance id', (t) => {
  const act = () =>
    grantServiceNames(
      request({ commonNames: ['instanceid.i-1'], altNames: [['dns', 'i-1.instanceid.signet.test']] }),
      { domain: parseDomainName('instanceid'), service: parseServiceName('i-1') },
      rules,
      grants,
    );
  t.throws(act, { message: /may hold$/ });
});

const subject = {
  domain: parseDomainName('catalog'),
  role: parseRoleName('reader'),
  principal: parsePrincipalName('media.player'),
};
const roleCases: readonly (readonly [
  name: string,
  shape: RequestShape,
  outcome: readonly string[] | RegExp,
  given?: NamingRules,
])[] = [
  ['the common name alone', {}, ['uri:spiffe://signet.test/ns/catalog/ra/reader']],
  [
    'the id and the holder',
    {
      altNames: [
        ['uri', 'spiffe://signet.test/ns/catalog/ra/reader'],
        ['email', 'media.player@signet.test'],
      ],
    },
    ['uri:spiffe://signet.test/ns/catalog/ra/reader', 'email:media.player@signet.test'],
  ],
  [
    'athenz: the holder as a uri',
    {
      altNames: [
        ['uri', 'spiffe://catalog/ra/reader'],
        ['uri', 'athenz://principal/media.player'],
      ],
    },
    ['uri:spiffe://catalog/ra/reader', 'uri:athenz://principal/media.player'],
    athenz,
  ],
  ['another role', { commonNames: ['catalog:role.admin'] }, /^csr common name must be `catalog:role.reader`$/],
  ['another holder', { altNames: [['email', 'media.admin@signet.test']] }, /is not `media.player@signet.test`$/],
  ['athenz: another holder', { altNames: [['uri', 'athenz://principal/media.admin']] }, /is not `spiffe/, athenz],
  ['athenz: a proxy', { altNames: [['uri', 'athenz://proxyuser/media.player']] }, /is not `spiffe/, athenz],
  [
    'the SPIFFE id of a service',
    { altNames: [['uri', 'spiffe://signet.test/ns/default/sa/media.player']] },
    /is not `spiffe/,
  ],
  ['a DNS name', { altNames: [['dns', 'player.media.signet.test']] }, /^csr dns name .* is not for role certificates$/],
  [
    'a DNS name of the own certificate',
    { altNames: [['dns', 'held.media.signet.test']] },
    /^csr dns name .* is not for role certificates$/,
  ],
  [
    'athenz: a DNS name of the own certificate',
    { altNames: [['dns', 'held.media.signet.test']] },
    ['dns:held.media.signet.test'],
    athenz,
  ],
  [
    'athenz: another DNS name',
    { altNames: [['dns', 'player.media.signet.test']] },
    /^csr dns name .* is not for role certificates$/,
    athenz,
  ],
  ['an address', { altNames: [['ip', Buffer.alloc(4)]] }, /^csr ip name .* is not for role certificates$/],
];
const held = { heldDnsNames: new Set(['held.media.signet.test']) };
for (const [name, shape, outcome, given = rules] of roleCases) {
  test(`role: ${name}`, (t) => {
    const act = () => grantRoleNames(request({ commonNames: ['catalog:role.reader'], ...shape }), subject, given, held);
    if (outcome instanceof RegExp) t.throws(act, { instanceOf: InvalidRequestError, message: outcome });
    else
      t.deepEqual(
        act().altNames.map(({ kind, value }) => `${kind}:${value}`),
        outcome,
      );
  });
}

test('a DNS name with an underscore is not certified (RFC 5280 §4.2.1.6)', (t) => {
  for (const name of ['player_1.media.video.signet.test', '_http.prov.example.com', 'h_1.hosts.example.com']) {
    for (const given of [rules, athenz]) {
      t.throws(() => instance({ altNames: [spiffe, id, ['dns', name]] }, given), {
        instanceOf: InvalidRequestError,
        message: `csr dns name \`${name}\` has an underscore, which no host name has`,
      });
    }
  }
});

test('an instance of a service with an underscore has a name without one, also when it asks for that of before', (t) => {
  const subject = { domain, service: parseServiceName('my_player'), provider: 'sys.cloud', instanceId: undefined };
  const named = (name: string, instanceId?: string) => {
    const shape = { commonNames: ['media.video.my_player'], altNames: [['dns', name]] as const };
    const asked = parseCertificateRequest(requestPem(pair, shape));
    const known = instanceId === undefined ? subject : { ...subject, instanceId: parsePathElement(instanceId) };
    return grantInstanceNames(asked, known, rules, grants).altNames.map(({ kind, value }) => `${kind}:${value}`);
  };
  const former = 'i-1.my_player.media-video.sys-cloud.instanceid.signet.test';
  for (const names of [named(former), named(former, 'i-1'), named('i-1.instanceid.signet.test')]) {
    t.is(names.length, 2);
    t.regex(names[1] ?? '', /^dns:i-1\.sha256-[a-z2-7]{52}\.media-video\.sys-cloud\.instanceid\.signet\.test$/);
  }
  t.throws(() => named(former, 'i-2'), { instanceOf: InvalidRequestError });
});
