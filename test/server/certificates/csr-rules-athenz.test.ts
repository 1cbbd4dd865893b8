import { oid, sequence, set, utf8String } from '@signet/policy-engine/internal/der';
import {
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
import { instanceIdName, type NamingRules } from '@signet/server/x509/naming';
import { oids } from '@signet/server/x509/oids';
import test from 'ava';
import { ecPair, type RequestedName, type RequestShape, requestPem } from '#support/requests';

/* Names that the profile `athenz` accepts beside the other profile, each with what it still refuses; and names that carry an id. */

const pair = ecPair();
const signet: NamingRules = { trustDomain: 'signet.test', dnsSuffix: 'signet.test', forms: signetForms };
const athenz: NamingRules = { ...signet, forms: athenzForms(['signet.test', 'athenz.cloud']) };
const subject = {
  domain: parseDomainName('media.video'),
  service: parseServiceName('player'),
  provider: 'sys.cloud',
};
const usual: ServiceGrants = {
  mayUseSuffix: (suffix) => suffix === 'prov.example.com',
  hostname: 'h1.hosts.example.com',
  address: '0a000001',
  addressFault: () => undefined,
  dnsForm: 'media-video',
};
const spiffe: RequestedName = ['uri', 'spiffe://signet.test/ns/default/sa/media.video.player'];
const byUri: RequestedName = ['uri', 'athenz://instanceid/sys.cloud/i-1'];
/** Readable, as the id is a label; the hash of it stands in names of other ids. */
const ownName = 'i-1.player.media-video.sys-cloud.instanceid.signet.test';
const nameOf = (instanceId: string) => instanceIdName(signet, { ...subject, instanceId });

function request(shape: RequestShape) {
  return parseCertificateRequest(requestPem(pair, { commonNames: ['media.video.player'], ...shape }));
}

interface Case {
  readonly note: string;
  readonly altNames?: readonly RequestedName[];
  readonly shape?: RequestShape;
  readonly rules?: NamingRules;
  readonly grants?: Partial<ServiceGrants>;
  /** The id, where the caller has it from elsewhere. */
  readonly known?: string;
  /** The names given, or why none are. */
  readonly outcome: readonly string[] | string | RegExp;
  readonly id?: string;
}

function instance({ altNames, shape, rules = athenz, grants, known }: Case) {
  const instanceId = known === undefined ? undefined : parsePathElement(known);
  const asked = request({ ...(altNames !== undefined && { altNames }), ...shape });
  return grantInstanceNames(asked, { ...subject, instanceId }, rules, { ...usual, ...grants });
}

const given = (name: RequestedName) => `${name[0]}:${name[1]}`;
const withOwn = [given(spiffe), `dns:${ownName}`];
const every = { mayUseSuffix: () => true };
const valid = (name: string) => `csr dns name \`${name}\` is not a valid host name`;

const cases: readonly Case[] = [
  // The common name.
  { note: 'in capitals', shape: { commonNames: ['MEDIA.video.Player'] }, altNames: [byUri], outcome: [given(byUri)] },
  {
    note: 'another common name',
    shape: { commonNames: ['media.video.admin'] },
    altNames: [byUri],
    outcome: 'csr common name must be `media.video.player`',
  },
  // The id of the instance.
  {
    note: 'the id before the area, known',
    altNames: [spiffe, ['dns', 'i-1.instanceid.signet.test']],
    known: 'i-1',
    outcome: withOwn,
  },
  { note: 'the own name, known', altNames: [spiffe, ['dns', ownName]], known: 'i-1', outcome: withOwn },
  { note: 'the own name, not known', altNames: [spiffe, ['dns', ownName]], outcome: withOwn },
  {
    note: 'an id of several labels that is not a name of this instance',
    rules: signet,
    altNames: [spiffe, ['dns', 'i-1.rack-2.instanceid.signet.test']],
    outcome: [given(spiffe), `dns:${nameOf('i-1.rack-2')}`],
    id: 'i-1.rack-2',
  },
  {
    note: 'an id that is not a label, known',
    rules: signet,
    altNames: [spiffe, ['dns', nameOf('a:b')]],
    known: 'a:b',
    outcome: [given(spiffe), `dns:${nameOf('a:b')}`],
    id: 'a:b',
  },
  {
    note: 'a name whose tail only looks like the area of ids',
    altNames: [byUri, ['dns', 'abcdefghijkathenz.prov.example.com']],
    outcome: [given(byUri), 'dns:abcdefghijkathenz.prov.example.com'],
  },
  {
    note: 'an id below something else than `athenz.`',
    altNames: [byUri, ['dns', 'i-1.instanceid.1234567prov.example.com']],
    outcome: /may hold$/,
  },
  {
    note: 'an id in a name that is none',
    altNames: [['dns', 'a:b.instanceid.athenz.prov.example.com']],
    outcome: valid('a:b.instanceid.athenz.prov.example.com'),
  },
  {
    note: 'two ways to state one id, and a third that differs',
    altNames: [byUri, ['dns', 'i-1.instanceid.athenz.prov.example.com'], ['uri', 'athenz://instanceid/SYS.cloud/i-2']],
    outcome: 'csr names more than one instance id',
  },
  {
    note: 'the owner of an id in capitals',
    altNames: [['uri', 'athenz://instanceid/SYS.cloud/i-1']],
    outcome: ['uri:athenz://instanceid/SYS.cloud/i-1'],
  },
  {
    note: 'no id at all',
    altNames: [spiffe],
    outcome: 'csr must carry the instance id, or `x509CertInstanceId` state it',
  },
  // Other URIs.
  {
    note: 'what an instance calls itself',
    altNames: [byUri, ['uri', 'athenz://instancename/web']],
    outcome: [given(byUri), 'uri:athenz://instancename/web'],
  },
  {
    note: 'the other profile: what an instance calls itself',
    rules: signet,
    altNames: [['uri', 'athenz://instancename/web']],
    known: 'i-1',
    outcome: /is not `spiffe/,
  },
  {
    note: 'the stated host name',
    altNames: [byUri, ['uri', 'athenz://hostname/h1.hosts.example.com']],
    outcome: [given(byUri), 'uri:athenz://hostname/h1.hosts.example.com'],
  },
  {
    note: 'another host name',
    altNames: [byUri, ['uri', 'athenz://hostname/h2.hosts.example.com']],
    outcome: 'csr uri name `athenz://hostname/h2.hosts.example.com` is not the stated host name',
  },
  {
    note: 'the other profile: the stated host name',
    rules: signet,
    altNames: [['uri', 'athenz://hostname/h1.hosts.example.com']],
    known: 'i-1',
    outcome: /is not `spiffe/,
  },
  {
    note: 'the SPIFFE id in capitals',
    altNames: [byUri, ['uri', 'spiffe://Signet.test/ns/default/sa/media.video.player']],
    outcome: [given(byUri), 'uri:spiffe://Signet.test/ns/default/sa/media.video.player'],
  },
  {
    note: 'the SPIFFE id of another service',
    altNames: [byUri, ['uri', 'spiffe://signet.test/ns/default/sa/media.video.admin']],
    outcome: /is not `spiffe/,
  },
  {
    note: 'the older SPIFFE id of another service',
    altNames: [byUri, ['uri', 'spiffe://media.video/sa/admin']],
    outcome: /is not `spiffe/,
  },
  // What counts as a URI counts for nothing as a name of another kind.
  ...['hostname/h1.hosts.example.com', 'instancename/web', 'instanceid/sys.cloud/i-1'].flatMap((text): Case[] => [
    {
      note: `${text} as a host name`,
      altNames: [byUri, ['dns', `athenz://${text}`]],
      outcome: valid(`athenz://${text}`),
    },
    {
      note: `${text} as an address of mail`,
      altNames: [byUri, ['email', `athenz://${text}`]],
      outcome: /is not for services$/,
    },
  ]),
  {
    note: 'the SPIFFE id as a host name',
    altNames: [byUri, ['dns', String(spiffe[1])]],
    outcome: valid(String(spiffe[1])),
  },
  {
    note: 'the SPIFFE id as an address of mail',
    altNames: [byUri, ['email', spiffe[1]]],
    outcome: /is not for services$/,
  },
  {
    note: 'a uri of another kind',
    altNames: [byUri, ['uri', 'https://signet.test/']],
    outcome: /is not `spiffe/,
  },
  // DNS names.
  {
    note: 'a name that the presented certificate holds',
    altNames: [byUri, ['dns', 'old.example.org']],
    grants: { heldDnsNames: new Set(['old.example.org']) },
    outcome: [given(byUri), 'dns:old.example.org'],
  },
  {
    note: 'a name that it does not hold',
    altNames: [byUri, ['dns', 'new.example.org']],
    grants: { heldDnsNames: new Set(['old.example.org']) },
    outcome: /may hold$/,
  },
  {
    note: 'the area of instance names in the middle of a name below a suffix of the provider',
    altNames: [byUri, ['dns', 'i-2.instanceid.prov.example.com']],
    grants: every,
    outcome: /may hold$/,
  },
  {
    note: 'the other profile: the same as the suffix of a service',
    rules: signet,
    altNames: [['dns', 'player.media-video.x.instanceid.example.com']],
    known: 'i-1',
    grants: every,
    outcome: [...withOwn, 'dns:player.media-video.x.instanceid.example.com'],
  },
  {
    note: 'a name of a service below a suffix that is not of the provider',
    altNames: [byUri, ['dns', 'player.media-video.example.org']],
    outcome: /may hold$/,
  },
  {
    note: 'a wildcard below a suffix that is not of the provider',
    altNames: [byUri, ['dns', '*.player.media-video.example.org']],
    outcome: /may hold$/,
  },
  {
    note: 'any name below a suffix that is not of the provider',
    altNames: [byUri, ['dns', 'x.example.org']],
    outcome: /may hold$/,
  },
  {
    note: 'a wildcard over names of others',
    altNames: [byUri, ['dns', '*.x.example.org']],
    grants: every,
    outcome: /may hold$/,
  },
  {
    note: 'a name of the token server',
    altNames: [byUri, ['dns', 'tokens.example.org']],
    grants: { ...every, isServerHost: (name) => name === 'tokens.example.org' },
    outcome: /may hold$/,
  },
  {
    note: 'another name, below any suffix',
    altNames: [byUri, ['dns', 'x.example.org']],
    grants: { ...every, isServerHost: (name) => name === 'tokens.example.org' },
    outcome: [given(byUri), 'dns:x.example.org'],
  },
  {
    note: 'localhost, for who may hold it',
    altNames: [byUri, ['dns', 'localhost']],
    grants: { hostname: 'localhost' },
    outcome: [given(byUri), 'dns:localhost'],
  },
  { note: 'localhost, for others', altNames: [byUri, ['dns', 'localhost']], outcome: valid('localhost') },
  {
    note: 'a name that is none, for who may hold localhost',
    altNames: [byUri, ['dns', '-x.prov.example.com']],
    grants: { hostname: 'localhost' },
    outcome: valid('-x.prov.example.com'),
  },
  {
    note: 'a single label, for who may hold another',
    altNames: [byUri, ['dns', 'loopback']],
    grants: { hostname: 'localhost' },
    outcome: valid('loopback'),
  },
  {
    note: 'a directory name',
    altNames: [byUri, ['directory', Buffer.from('3000', 'hex')]],
    outcome: 'csr asks for an alternative name of a kind that is never given',
  },
  {
    note: 'no address in the request, and one asked for',
    altNames: [byUri, ['ip', Buffer.of(10, 0, 0, 1)]],
    grants: { address: undefined },
    outcome: 'csr ip name `10.0.0.1` is not the address that the request comes from',
  },
];

for (const each of cases) {
  test(`instance: ${each.note}`, (t) => {
    const { outcome, id = 'i-1' } = each;
    if (typeof outcome === 'string' || outcome instanceof RegExp) {
      t.throws(() => instance(each), { instanceOf: InvalidRequestError, message: outcome });
      return;
    }
    const { altNames, instanceId } = instance(each);
    t.is(instanceId, parsePathElement(id));
    t.deepEqual(
      altNames.map(({ kind, value }) => `${kind}:${value}`),
      outcome,
    );
  });
}

const serialNumber = set(sequence(oid('2.5.4.5'), utf8String('1')));
const [first, second] = [relativeName(oids.organization, 'One'), relativeName(oids.organization, 'Two')];
const unit = relativeName(oids.organizationalUnit, 'Unit');
const own = relativeName(oids.commonName, 'media.video.player');
const subjects: readonly (readonly [note: string, rules: NamingRules, more: readonly Buffer[], fault?: string])[] = [
  ['athenz: an organization and its unit', athenz, [first, unit]],
  ['athenz: two organizations', athenz, [first, second], 'csr subject may hold each attribute once'],
  ['athenz: an attribute that is not copied', athenz, [serialNumber], 'csr subject may hold only the common name'],
  ['an organization', signet, [first], 'csr subject may hold only the common name'],
];
for (const [note, rules, more, fault] of subjects) {
  test(`subject: ${note}`, (t) => {
    const asked = request({ moreSubject: more });
    const act = () => grantServiceNames(asked, subject, rules, usual);
    if (fault === undefined) t.deepEqual(act().subject, [own, ...more]);
    else t.throws(act, { instanceOf: InvalidRequestError, message: fault });
  });
}

const role = {
  domain: parseDomainName('catalog'),
  role: parseRoleName('reader'),
  principal: parsePrincipalName('media.player'),
};
const notForRoles = (kind: string, name?: string) =>
  `csr ${kind} name${name === undefined ? '' : ` \`${name}\``} is not for role certificates`;
const roles: readonly (readonly [
  note: string,
  rules: NamingRules,
  asked: RequestedName,
  fault: string | RegExp | undefined,
])[] = [
  ['athenz: the older form in capitals', athenz, ['uri', 'spiffe://Catalog/ra/reader'], undefined],
  [
    'the older form',
    signet,
    ['uri', 'spiffe://catalog/ra/reader'],
    'csr uri name `spiffe://catalog/ra/reader` is not `spiffe://signet.test/ns/catalog/ra/reader`',
  ],
  [
    'a directory name',
    signet,
    ['directory', Buffer.from('3000', 'hex')],
    'csr other name is not for role certificates',
  ],
  [
    'athenz: an email address with the name of a held DNS name',
    athenz,
    ['email', 'held.media.signet.test'],
    'csr email name `held.media.signet.test` is not `media.player@signet.test`',
  ],
  [
    'athenz: a uri with the name of a held DNS name',
    athenz,
    ['uri', 'held.media.signet.test'],
    'csr uri name `held.media.signet.test` is not `spiffe://signet.test/ns/catalog/ra/reader`',
  ],
  ['athenz: a held DNS name', athenz, ['dns', 'held.media.signet.test'], undefined],
  ['a held DNS name', signet, ['dns', 'held.media.signet.test'], notForRoles('dns', 'held.media.signet.test')],
  ['athenz: another DNS name', athenz, ['dns', 'x.media.signet.test'], notForRoles('dns', 'x.media.signet.test')],
  ['athenz: an address', athenz, ['ip', Buffer.of(10, 0, 0, 1)], notForRoles('ip', '10.0.0.1')],
  ['athenz: a directory name', athenz, ['directory', Buffer.from('3000', 'hex')], notForRoles('other')],
  ['the own email address', signet, ['email', 'media.player@signet.test'], undefined],
  [
    'the own name as a host',
    signet,
    ['dns', 'media.player@signet.test'],
    notForRoles('dns', 'media.player@signet.test'),
  ],
  ['athenz: the principal', athenz, ['uri', 'athenz://principal/Media.player'], undefined],
  ['athenz: another principal', athenz, ['uri', 'athenz://principal/media.editor'], /is not `spiffe/],
  ['the principal', signet, ['uri', 'athenz://principal/media.player'], /is not `spiffe/],
  ['the SPIFFE id of the role', signet, ['uri', 'spiffe://signet.test/ns/catalog/ra/reader'], undefined],
];
/** Names in hexadecimal or without a text must not be taken for DNS names that read alike. */
const held = { heldDnsNames: new Set(['held.media.signet.test', '0a000001', '']) };
/** The names that follow from who asks, below the suffixes of the profile, and from where. */
const known = { heldDnsNames: new Set<string>(), dnsStart: 'player.media.', address: '0a000001' };
const ofHolder: readonly (readonly [asked: RequestedName, rules: NamingRules, isGiven: boolean, holder?: object])[] = [
  [['dns', 'player.media.athenz.cloud'], athenz, true],
  [['dns', 'Player.media.SIGNET.test'], athenz, true],
  [['dns', 'player.media.athenz.cloud'], signet, false],
  [['dns', 'player.media.athenz.cloud'], athenz, false, { dnsStart: undefined }],
  [['dns', 'x.player.media.athenz.cloud'], athenz, false],
  [['dns', 'editor.media.athenz.cloud'], athenz, false],
  [['dns', 'player.media.other.cloud'], athenz, false],
  [['email', 'media.player@athenz.cloud'], athenz, true],
  [['email', 'media.player@athenz.cloud'], signet, false],
  [['email', 'media.editor@athenz.cloud'], athenz, false],
  [['email', 'media.player@other.cloud'], athenz, false],
  [['ip', Buffer.of(10, 0, 0, 1)], athenz, true],
  [['ip', Buffer.of(10, 0, 0, 1)], signet, false],
  [['ip', Buffer.of(10, 0, 0, 2)], athenz, false],
  [['ip', Buffer.of(10, 0, 0, 1)], athenz, false, { address: undefined }],
];
for (const [asked, rules, isGiven, holder] of ofHolder) {
  const who = holder === undefined ? '' : ` without its ${Object.keys(holder).join()}`;
  test(`role, ${rules === athenz ? 'athenz' : 'signet'}: ${asked.join(' ')}${who}`, (t) => {
    const shape = request({ commonNames: ['catalog:role.reader'], altNames: [asked] });
    const act = () => grantRoleNames(shape, role, rules, { ...known, ...holder });
    if (isGiven) t.true(act().altNames.some(({ kind }) => kind === asked[0]));
    else t.throws(act, { instanceOf: InvalidRequestError });
  });
}

for (const [note, rules, asked, fault] of roles) {
  test(`role: ${note}`, (t) => {
    const shape = request({ commonNames: ['catalog:role.reader'], altNames: [asked] });
    const act = () => grantRoleNames(shape, role, rules, held);
    if (fault === undefined) t.true(act().altNames.some(({ kind }) => kind === asked[0]));
    else t.throws(act, { instanceOf: InvalidRequestError, message: fault });
  });
}
