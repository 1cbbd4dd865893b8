import { z } from 'zod';
import { about, addresses, seconds } from './about.ts';

export const listenSchema = z.strictObject({
  host: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .meta(about('0.1', '0.0.0.0', 'Address or host name to listen on.')),
  port: z
    .int()
    .min(0)
    .max(65_535)
    .default(4443)
    .meta(about('0.1', 443, 'TCP port of HTTPS; 0: any free one.')),
  proxyProtocolFrom: addresses.meta(
    about(
      '0.2',
      ['10.0.0.0/28'],
      'Balancers whose connections must begin with a PROXY protocol v2 header, which is accepted from no other address.',
    ),
  ),
  reusePort: z
    .boolean()
    .default(false)
    .meta(
      about('0.2', true, 'Whether other servers of this user on this machine may share the ports (`SO_REUSEPORT`).'),
    ),
});

export const limitsSchema = z.strictObject({
  urlBytes: z
    .int()
    .min(256)
    .max(65_536)
    .default(8192)
    .meta(about('0.1', 4096, "Maximum length of a request's URL.")),
  headerBytes: z
    .int()
    .min(1024)
    .max(65_536)
    .default(16_384)
    .meta(about('0.1', 32_768, "Maximum size of a request's URL and all header fields, names and values.")),
  bodyBytes: z
    .int()
    .min(1024)
    .max(1_048_576)
    .default(65_536)
    .meta(about('0.1', 131_072, 'Maximum size of other bodies than those of `limits.largeBodyBytes`.')),
  largeBodyBytes: z
    .int()
    .min(1024)
    .max(16_777_216)
    .default(1_048_576)
    .meta(about('0.1', 4_194_304, 'Maximum size of bodies with certificate requests, and of the management API.')),
  connectionRequests: z
    .int()
    .min(1)
    .max(10_000)
    .default(100)
    .meta(about('0.2', 50, 'Maximum number of unanswered requests on a connection.', { unit: 'requests' })),
  connectionBytes: z
    .int()
    .min(65_536)
    .max(1_073_741_824)
    .default(16_777_216)
    .meta(
      about(
        '0.2',
        33_554_432,
        'Maximum size of bodies and unread answers on a connection; beyond it there are no further answers.',
      ),
    ),
  principalBytes: z
    .int()
    .min(65_536)
    .max(4_294_967_296)
    .default(134_217_728)
    .meta(
      about('0.2', 268_435_456, 'Maximum size of bodies and unread answers of a principal on all its connections.'),
    ),
});

/**
 * A budget of a group in each process: milliseconds of processor time for each second (as counted: docs/decisions/026), how much of it at
 * once, and requests in flight. `share`: what one member may take of each of the three.
 */
const groupBudget = (defaults: { workMsPerSecond: number; burstMs: number; inFlight: number; share: number }) =>
  z.strictObject({
    workMsPerSecond: z
      .number()
      .min(1)
      .max(1_000_000)
      .default(defaults.workMsPerSecond)
      .meta(about('0.2', 900, 'Processor time per second, in each process.', { unit: 'ms of work per second' })),
    burstMs: z
      .number()
      .min(100)
      .max(10_000_000)
      .default(defaults.burstMs)
      .meta(about('0.2', 120_000, 'Processor time that may be used at once after a pause.')),
    inFlight: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(defaults.inFlight)
      .meta(about('0.2', 1000, 'Concurrent requests, in each process.', { unit: 'requests' })),
    share: z
      .number()
      .min(0.001)
      .max(1)
      .default(defaults.share)
      .meta(about('0.2', 0.25, 'Share of one member in each of the three.', { unit: 'part of the whole' })),
  });

export const budgetsSchema = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .meta(about('0.2', false, 'Whether callers that exceed their budget are refused (429).')),
  principal: groupBudget({ workMsPerSecond: 700, burstMs: 60_000, inFlight: 640, share: 0.5 })
    .prefault({})
    .meta({ description: 'The budget of each principal; its members are its certificates.' }),
  strangers: groupBudget({ workMsPerSecond: 600, burstMs: 60_000, inFlight: 512, share: 0.5 }).prefault({}).meta({
    description:
      'The budget of all callers without a certificate together, their handshakes included; its members are their addresses (IPv6: /64).',
  }),
  sharedAddresses: addresses.meta(
    about(
      '0.2',
      ['203.0.113.7'],
      'Addresses of many clients (NAT, balancers without the PROXY protocol): each has the whole budget of `strangers`.',
    ),
  ),
  refusalDelayMs: z
    .int()
    .min(0)
    .max(5000)
    .default(1000)
    .meta(about('0.2', 500, 'Delay of a refusal, which slows loops down.')),
});

export const timeoutsSchema = z.strictObject({
  requestMs: z
    .int()
    .min(1000)
    .max(120_000)
    .default(20_000)
    .meta(
      about('0.1', 10_000, 'For the TLS handshake, then for all headers of a request, then for the whole request.'),
    ),
  stallMs: z
    .int()
    .min(1000)
    .max(600_000)
    .default(30_000)
    .meta(about('0.2', 60_000, 'Maximum time in which a client reads nothing of an answer.')),
  answerMs: z
    .int()
    .min(1000)
    .max(3_600_000)
    .default(300_000)
    .meta(about('0.2', 600_000, 'Maximum time for a client to read an answer.')),
  keepAliveMs: z
    .int()
    .min(1000)
    .max(3_600_000)
    .default(120_000)
    .meta(about('0.1', 30_000, 'How long an idle connection is kept.')),
  drainMs: z
    .int()
    .min(0)
    .max(60_000)
    .default(9000)
    .meta(about('0.1', 20_000, 'Maximum time for running requests after the port is closed on shutdown.')),
});

export const shutdownSchema = z.strictObject({
  delaySeconds: seconds(0, 300)
    .default(0)
    .meta(
      about(
        '0.2',
        10,
        'How long the port stays open on shutdown, while `/readyz` answers 503: the time that balancers take to notice.',
      ),
    ),
});

export const logSchema = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .meta(about('0.1', 'warn', 'The lowest level that is logged.')),
  requests: z
    .boolean()
    .default(true)
    .meta(about('0.1', false, 'Whether each request answered below 500 is a line at level `info`.')),
});
