import { formatTimestamp } from '@signet/policy-engine/clock';
import { Command, InvalidArgumentError } from 'commander';
import { type ConnectionOptions, connectionOptions, openClient } from './connection.ts';
import { action, print } from './run.ts';

interface CredentialsOptions extends ConnectionOptions {
  readonly domain: string;
  readonly role: string;
  readonly duration?: number;
  readonly externalId?: string;
}

/** `signet aws`: what the tools of AWS need from Signet. */
export function awsCommand(): Command {
  const credentials = connectionOptions(new Command('credentials'))
    .description('print temporary credentials for `credential_process = signet aws credentials …` in ~/.aws/config')
    .requiredOption('--domain <domain>', 'domain that owns the AWS account')
    .requiredOption('--role <role>', 'name of the AWS role, with its path if it has one')
    .option('--duration <seconds>', '900 to 43200', duration)
    .option('--external-id <id>', 'external ID that the AWS role requires')
    .option('--json', 'print JSON (always on)')
    .action(action(printCredentials));
  return new Command('aws').description('get temporary AWS credentials').addCommand(credentials);
}

function duration(value: string): number {
  if (!/^\d{3,5}$/.test(value)) throw new InvalidArgumentError('must be an integer (seconds)');
  return Number(value);
}

async function printCredentials(options: CredentialsOptions): Promise<void> {
  await using client = openClient(options);
  const { domain, role, duration: durationSeconds, externalId } = options;
  const credentials = await client.aws.credentials({
    domain,
    role,
    ...(durationSeconds !== undefined && { durationSeconds }),
    ...(externalId !== undefined && { externalId }),
  });
  const document = {
    Version: 1,
    AccessKeyId: credentials.accessKeyId,
    SecretAccessKey: credentials.secretAccessKey,
    SessionToken: credentials.sessionToken,
    Expiration: formatTimestamp(credentials.expiresAt),
  };
  print(document, true);
}
