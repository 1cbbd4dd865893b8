import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import type { Ending } from './start-server.ts';

/** Next behaviour of the local STS for a call that is otherwise valid. */
export type StsMood =
  | { kind: 'grant' }
  | { kind: 'refuse'; status: number; code: string; message: string }
  | { kind: 'nonsense'; body: string }
  | { kind: 'stall' }
  | { kind: 'trickle' }
  | { kind: 'reset' };

export interface LocalSts {
  readonly endpoint: string;
  readonly calls: Record<string, string>[];
  mood: StsMood;
}

export const stsAccess = { accessKeyId: 'AKIDEXAMPLE0000000000', secretAccessKey: 'local-secret' };

/** An STS on loopback that checks what it is sent as the cloud would: the signature, the parameters, the limits. */
export async function startSts(t: Ending): Promise<LocalSts> {
  const sts: { endpoint: string; calls: Record<string, string>[]; mood: StsMood } = {
    endpoint: '',
    calls: [],
    mood: { kind: 'grant' },
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(sts, request, Buffer.concat(chunks).toString(), response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  sts.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return sts;
}

function answer(sts: LocalSts, request: IncomingMessage, body: string, response: ServerResponse): void {
  const parameters = Object.fromEntries(new URLSearchParams(body));
  sts.calls.push(parameters);
  const { mood } = sts;
  const fault = signatureFault(request, body) ?? parameterFault(parameters);
  if (fault !== undefined) send(response, 403, failure('SignatureDoesNotMatch', fault));
  else if (mood.kind === 'reset') request.socket.destroy();
  else if (mood.kind === 'nonsense') send(response, 200, mood.body);
  else if (mood.kind === 'refuse') send(response, mood.status, failure(mood.code, mood.message));
  else if (mood.kind === 'trickle') trickle(response);
  else if (mood.kind === 'grant') send(response, 200, success(parameters));
}

/** The headers at once, and blanks for ever. */
function trickle(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/xml' });
  const timer = setInterval(() => response.write(' '), 20);
  response.once('close', () => clearInterval(timer));
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/xml' }).end(body);
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** Signature version 4, computed again from the request as it arrived. */
function signatureFault(request: IncomingMessage, body: string): string | undefined {
  const header = request.headers.authorization ?? '';
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/sts\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      header,
    );
  if (match === null) return 'authorization header is malformed';
  const [, keyId = '', day = '', region = '', names = '', signature = ''] = match;
  if (keyId !== stsAccess.accessKeyId) return 'unknown access key';
  const signed = names.split(';');
  if (!signed.includes('host')) return 'host is not signed';
  const headers = signed.map((name) => `${name}:${String(request.headers[name] ?? '').trim()}\n`).join('');
  const bodyHash = createHash('sha256').update(body).digest('hex');
  const canonical = [request.method, request.url, '', headers, names, bodyHash].join('\n');
  const date = String(request.headers['x-amz-date']);
  const scope = `${day}/${region}/sts/aws4_request`;
  const digest = createHash('sha256').update(canonical).digest('hex');
  const key = hmac(hmac(hmac(hmac(`AWS4${stsAccess.secretAccessKey}`, day), region), 'sts'), 'aws4_request');
  const expected = hmac(key, ['AWS4-HMAC-SHA256', date, scope, digest].join('\n'));
  return timingSafeEqual(expected, Buffer.from(signature, 'hex')) ? undefined : 'signature does not match';
}

const limits: Record<string, RegExp> = {
  Action: /^AssumeRole$/,
  Version: /^2011-06-15$/,
  RoleArn: /^arn:aws:iam::\d{12}:role\/[\w+=,.@/-]{1,576}$/,
  RoleSessionName: /^[\w+=,.@-]{2,64}$/,
  SourceIdentity: /^[\w+=,.@-]{2,64}$/,
  DurationSeconds: /^(9\d\d|[1-9]\d{3}|[1-3]\d{4}|4[0-2]\d{3}|43[01]\d\d|43200)$/,
  ExternalId: /^[\w+=,.@:/-]{2,1224}$/,
};

function parameterFault(parameters: Record<string, string>): string | undefined {
  for (const name of ['Action', 'Version', 'RoleArn', 'RoleSessionName']) {
    if (parameters[name] === undefined) return `${name} is missing`;
  }
  for (const [name, value] of Object.entries(parameters)) {
    const grammar = /^Tags\.member\.\d+\.(Key|Value)$/.test(name)
      ? /^[\p{L}\p{Z}\p{N}_.:/=+\-@]{1,256}$/u
      : limits[name];
    if (grammar === undefined || !grammar.test(value)) return `${name} is not valid`;
  }
  return undefined;
}

function success(parameters: Record<string, string>): string {
  const seconds = Number(parameters['DurationSeconds'] ?? 3600);
  const expiration = formatTimestamp(systemClock.now() + seconds * 1000);
  return `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
<AssumedRoleUser><AssumedRoleId>AROA:${parameters['RoleSessionName']}</AssumedRoleId><Arn>${parameters['RoleArn']}</Arn></AssumedRoleUser>
<Credentials><AccessKeyId>ASIAEXAMPLE0000000000</AccessKeyId><SecretAccessKey>a/secret+key</SecretAccessKey><SessionToken>a-session-token==</SessionToken><Expiration>${expiration}</Expiration></Credentials>
</AssumeRoleResult><ResponseMetadata><RequestId>11111111-2222-3333-4444-555555555555</RequestId></ResponseMetadata></AssumeRoleResponse>`;
}

function failure(code: string, message: string): string {
  return `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>11111111-2222-3333-4444-555555555555</RequestId></ErrorResponse>`;
}
