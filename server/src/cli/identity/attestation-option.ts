import { readFile } from 'node:fs/promises';
import { SignetClientError } from '@signet/client';
import { processEnvironment } from '../../config/env.ts';
import { runShell } from './run-shell.ts';

/** Source of the instance's attestation; one of the two, or none. */
interface AttestationSource {
  readonly attestation?: string;
  readonly attestationCommand?: string;
}

const timeoutMs = 30_000;

/** Asked for whenever it is needed: platforms renew the tokens that they put into files. Throws `SignetClientError` when a command fails. */
export async function readAttestation(source: AttestationSource): Promise<string | undefined> {
  const { attestation: file, attestationCommand: command } = source;
  if (command !== undefined) return fromCommand(command);
  if (file === undefined) return undefined;
  try {
    return (await readFile(file, 'utf8')).trim() || undefined;
  } catch {
    return undefined;
  }
}

async function fromCommand(command: string): Promise<string> {
  const { status, output } = await runShell(command, { environment: processEnvironment(), timeoutMs });
  const text = output.trim();
  if (status === 0 && text !== '') return text;
  const how = status === 0 ? 'printed nothing' : `ended with ${status === undefined ? 'a signal' : `status ${status}`}`;
  throw new SignetClientError('invalid-argument', `the command of --attestation-command ${how}`);
}
