import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The access key of a server that asks the local STS, as the SDK reads it from the environment. */
export const stsEnvironment = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE0000000000', AWS_SECRET_ACCESS_KEY: 'local-secret' };

const answer = `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
<AssumedRoleUser><AssumedRoleId>AROA:session</AssumedRoleId><Arn>arn:aws:sts::123456789012:assumed-role/nightly/session</Arn></AssumedRoleUser>
<Credentials><AccessKeyId>ASIAEXAMPLE0000000000</AccessKeyId><SecretAccessKey>a/secret+key</SecretAccessKey><SessionToken>${'a'.repeat(800)}</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>
</AssumeRoleResult><ResponseMetadata><RequestId>11111111-2222-3333-4444-555555555555</RequestId></ResponseMetadata></AssumeRoleResponse>`;

/** An STS on loopback that grants whatever it is asked for: what is measured is the server that asks. */
export async function startLocalSts(): Promise<{ readonly endpoint: string; close(): void }> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(200, { 'content-type': 'text/xml' }).end(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
