import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import type { recordFields } from '../../model/record-fields.ts';
import { action, namedAction } from '../run.ts';
import {
  given,
  list,
  listChanges,
  type ReadOptions,
  reader,
  show,
  type WriteOptions,
  write,
  writer,
} from './commands.ts';

/** Every field: without one of them it does not compile. */
type ServiceFields = Record<keyof typeof recordFields.service, unknown>;

interface PutOptions extends WriteOptions {
  readonly description?: string;
  readonly endpoint?: string;
  readonly host?: readonly string[];
  readonly disabled?: boolean;
}

type KeyArguments = Readonly<Record<'domain' | 'service' | 'key-id' | 'file', string>>;

/** `signet service …`. */
export function serviceCommand(): Command {
  const all = (domain: string) => ['domains', domain, 'services'];
  const one = (command: Command) => command.argument('<domain>').argument('<service>');
  const key = (command: Command) => one(command).argument('<key-id>');
  return new Command('service')
    .description('manage services and their public keys')
    .addCommand(
      reader('list', 'list the services of a domain')
        .argument('<domain>')
        .action(action((domain: string, o: ReadOptions) => list(o, all(domain)))),
    )
    .addCommand(
      one(reader('show', 'show a service with its public keys')).action(
        action((domain: string, name: string, o: ReadOptions) => show(o, [...all(domain), name])),
      ),
    )
    .addCommand(
      one(writer('create', 'create or replace a service; its keys stay, other omitted fields are cleared'))
        .option('--description <text>', 'what it is')
        .option('--endpoint <url>', 'URL at which a provider confirms instances')
        .option('--host <name...>', 'hosts that the service runs on')
        .option('--disabled', 'disable the service: it cannot authenticate')
        .action(
          action((domain: string, name: string, o: PutOptions) => {
            const enabled = o.disabled === true ? false : undefined;
            const own: ServiceFields = { description: o.description, endpoint: o.endpoint, enabled };
            const body = given({ ...own, hosts: o.host });
            return write(o, { method: 'PUT', path: [...all(domain), name], body });
          }),
        ),
    )
    .addCommand(
      one(writer('delete', 'delete a service')).action(
        action((domain: string, name: string, o: WriteOptions) =>
          write(o, { method: 'DELETE', path: [...all(domain), name] }),
        ),
      ),
    )
    .addCommand(
      one(reader('changes', 'list changes of a service, newest first')).action(
        action((domain: string, name: string, o: ReadOptions) => listChanges(o, [...all(domain), name])),
      ),
    )
    .addCommand(
      key(writer('add-key', 'register a public key, or replace the key with this ID'))
        .argument('<file>', 'public key, PEM')
        .action(
          namedAction((named: KeyArguments, o: WriteOptions) => {
            const body = { pem: readFileSync(named.file, 'utf8') };
            return write(o, {
              method: 'PUT',
              path: [...all(named.domain), named.service, 'keys', named['key-id']],
              body,
            });
          }),
        ),
    )
    .addCommand(
      key(writer('remove-key', 'remove a public key')).action(
        action((domain: string, name: string, id: string, o: WriteOptions) =>
          write(o, { method: 'DELETE', path: [...all(domain), name, 'keys', id] }),
        ),
      ),
    );
}
