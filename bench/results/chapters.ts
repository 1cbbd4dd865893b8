/** A page of the report: which figures stand in its picture, and what they mean for a user. */
export interface Chapter {
  /** The name of the picture's file. */
  readonly name: string;
  readonly title: string;
  readonly meaning: string;
  /** The beginnings of the ids of its figures. */
  readonly figures: readonly string[];
}

export const chapters: readonly Chapter[] = [
  {
    name: 'token',
    title: 'A token',
    meaning:
      'Processor time of one access token over a kept connection with client certificates, beside a bare Node server that signs the same claims, a Koa application that does, and `oidc-provider`. It says how many tokens a core gives out: all that is checked, decided and logged lies between the bare server and ours.',
    figures: ['token/'],
  },
  {
    name: 'handshakes',
    title: 'A token over a new connection',
    meaning:
      'Callers that keep no connection pay for a handshake with each token, and so does the server: most of the cost is cryptography that every server has. Keep connections, or keep tokens.',
    figures: ['handshakes/'],
  },
  {
    name: 'unchanged',
    title: 'Nothing new for an updater',
    meaning:
      'Every host asks every minute for the bundles of its domains, and nearly always nothing has changed. The cost of such an answer says how many hosts one server can have.',
    figures: ['unchanged/'],
  },
  {
    name: 'loading',
    title: 'A large bundle',
    meaning:
      'What a host pays when a bundle of ten megabytes arrives, beside the least that must be done (a SHA-256 and `JSON.parse`), what the server pays to sign it, and for how long either stands still meanwhile: a request that comes then waits so long.',
    figures: ['loading/', 'signing/'],
  },
  {
    name: 'decisions',
    title: 'Decisions',
    meaning:
      'Rate of the engine divided by that of the better of two engines written by hand for exactly these rules, in the worst layout. One means that nobody gains by writing their own. The worst are refusals of callers with one role, which hand-written code refuses before it looks at the resource; the engine says whose resource it is as well. Either takes a tenth to a third of a microsecond.',
    figures: ['decisions/hand', 'decisions/growth/', 'decisions/decide/'],
  },
  {
    name: 'decisions-instructions',
    title: 'Decisions in instructions',
    meaning:
      'The same for callers with one role in policies of many roles, in instructions: free of noise, and of how well a processor runs them side by side.',
    figures: ['decisions/instructions/'],
  },
  {
    name: 'certificates',
    title: 'Certificates',
    meaning:
      'Rate of certificates as a share of the least work (read a key, verify one signature, make one), the store included. Requests one at a time wait for the disk; over mutual TLS the request itself costs more than the certificate.',
    figures: ['certificates/'],
  },
  {
    name: 'imports',
    title: 'Importing a library',
    meaning:
      'Processor time and memory of an import in a process of its own, beyond a peer: each function, test run and command pays it.',
    figures: ['imports/'],
  },
  {
    name: 'holds',
    title: 'Management requests beside tokens',
    meaning:
      'Longest time for which one management request keeps the server from answering others, on a domain that fills its quotas.',
    figures: ['holds/'],
  },
  {
    name: 'memory',
    title: 'A small server: memory',
    meaning:
      'Resident memory of all processes of one `signet serve` with a small store, what the smallest machine needs, and of an updater, which every host runs.',
    figures: ['memory/'],
  },
  {
    name: 'start',
    title: 'A small server: start',
    meaning: 'Processor time until the installed program answers: what a restart and each command of a script cost.',
    figures: ['start/'],
  },
  {
    name: 'workers',
    title: 'Several processes',
    meaning:
      'What a second process of the same server costs: in processor time of a token, and in memory. A bare server stands beside it: what it pays for two processes is what the machine takes, and not the program.',
    figures: ['workers/'],
  },
  {
    name: 'sizes',
    title: 'A large store',
    meaning:
      '10,000 domains with a million members: how long a start takes, how much memory it needs, and how soon a change counts in another process of the machine.',
    figures: ['sizes/'],
  },
  {
    name: 'connections',
    title: 'Many updaters',
    meaning:
      'Memory of a kept connection with a client certificate, with as many as ten thousand hosts have open. What one costs is nearly all of Node and OpenSSL (docs/decisions/065); ten thousand fit 1 GiB with one process and with two.',
    figures: ['connections/'],
  },
];
