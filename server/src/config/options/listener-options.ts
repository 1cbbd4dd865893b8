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
    .meta(about('0.1', 443, 'TCP port of HTTPS; 0 takes a free one.')),
  proxyProtocolFrom: addresses.meta(
    about(
      '0.2',
      ['10.0.0.0/28'],
      'Balancers whose connections begin with a PROXY protocol v2 header: the header is required from them and taken from nobody else.',
    ),
  ),
  reusePort: z
    .boolean()
    .default(false)
    .meta(
      about(
        '0.2',
        true,
        'Whether other servers of this user on this machine may listen on the same ports beside this one (`SO_REUSEPORT`).',
      ),
    ),
});

export const limitsSchema = z.strictObject({
  urlBytes: z
    .int()
    .min(256)
    .max(65_536)
    .default(8192)
    .meta(about('0.1', 4096, 'Maximum length of the address of a request.')),
  headerBytes: z
    .int()
    .min(1024)
    .max(65_536)
    .default(16_384)
    .meta(about('0.1', 32_768, 'Maximum size of the address and all header fields of a request, names and values.')),
  bodyBytes: z
    .int()
    .min(1024)
    .max(1_048_576)
    .default(65_536)
    .meta(about('0.1', 131_072, 'Maximum size of the body of a request that `limits.largeBodyBytes` is not for.')),
  largeBodyBytes: z
    .int()
    .min(1024)
    .max(16_777_216)
    .default(1_048_576)
    .meta(about('0.1', 4_194_304, 'Maximum size of bodies that carry certificate requests, and of management.')),
  connectionRequests: z
    .int()
    .min(1)
    .max(10_000)
    .default(100)
    .meta(about('0.2', 50, 'Maximum number of requests without an answer on one connection.', { unit: 'requests' })),
  connectionBytes: z
    .int()
    .min(65_536)
    .max(1_073_741_824)
    .default(16_777_216)
    .meta(
      about('0.2', 33_554_432, 'Bodies and unread answers of one connection: with more, it gets no further answer.'),
    ),
  principalBytes: z
    .int()
    .min(65_536)
    .max(4_294_967_296)
    .default(134_217_728)
    .meta(about('0.2', 268_435_456, 'Bodies and unread answers of one principal on all of its connections.')),
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
      .meta(about('0.2', 900, 'Processor time for each second, in each process.', { unit: 'ms of work per second' })),
    burstMs: z
      .number()
      .min(100)
      .max(10_000_000)
      .default(defaults.burstMs)
      .meta(about('0.2', 120_000, 'Processor time that may be taken at once after a pause.')),
    inFlight: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(defaults.inFlight)
      .meta(about('0.2', 1000, 'Requests at the same time, in each process.', { unit: 'requests' })),
    share: z
      .number()
      .min(0.001)
      .max(1)
      .default(defaults.share)
      .meta(about('0.2', 0.25, 'What one member may take of each of the three.', { unit: 'part of the whole' })),
  });

export const budgetsSchema = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .meta(about('0.2', false, 'Whether callers that take too much of a process are refused (429).')),
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
      'Addresses that many clients have (NAT, balancers without the PROXY protocol): each has the budget of `strangers` to itself.',
    ),
  ),
  refusalDelayMs: z
    .int()
    .min(0)
    .max(5000)
    .default(1000)
    .meta(about('0.2', 500, 'How long a refusal is held back, so that who asks in a loop is slowed down.')),
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
    .meta(about('0.2', 60_000, 'How long a client may read nothing of an answer.')),
  answerMs: z
    .int()
    .min(1000)
    .max(3_600_000)
    .default(300_000)
    .meta(about('0.2', 600_000, 'How long a client may take for a whole answer.')),
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
    .meta(
      about(
        '0.1',
        20_000,
        'How long requests in flight may take after the order to stop, from when the port is closed.',
      ),
    ),
});

export const shutdownSchema = z.strictObject({
  delaySeconds: seconds(0, 300)
    .default(0)
    .meta(
      about(
        '0.2',
        10,
        'How long the port stays open after the order to stop, while `/readyz` says 503: as long as balancers take to notice.',
      ),
    ),
});

export const logSchema = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .meta(about('0.1', 'warn', 'The least severe records that are written.')),
  requests: z
    .boolean()
    .default(true)
    .meta(about('0.1', false, 'Whether each request answered below 500 is a line at level `info`.')),
});
