/* Pages of the operations and the schemas of an OpenAPI document, in Markdown. */

interface Ref {
  readonly $ref: string;
}
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}
type Content = Readonly<Record<string, { readonly schema?: Schema }>>;
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}
interface Response {
  readonly description: string;
  readonly content?: Content;
}
interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly description: string;
  readonly parameters: readonly (Parameter | Ref)[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, Response | Ref>>;
}
/** The parts of an OpenAPI document that the pages are made of. */
export interface Document {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly responses: Readonly<Record<string, Response>>;
  };
}

const nameOf = ($ref: string): string => $ref.slice($ref.lastIndexOf('/') + 1);
const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``;
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  return `${line(heads)}${line(heads.map(() => '---'))}${rows.map(line).join('')}\n`;
}

/** A schema in a few words, with links to those that have a name. */
function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = nameOf(schema.$ref);
    return `[${name}](schemas.md#${name.toLowerCase()})`;
  }
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(JSON.stringify(value))).join(', ');
  const [joint, options] =
    schema.allOf === undefined ? [' or ', schema.oneOf ?? schema.anyOf] : [' and ', schema.allOf];
  if (options !== undefined) return options.map(typeOf).join(joint);
  if (schema.items !== undefined) return `array of ${typeOf(schema.items)}`;
  if (typeof schema.additionalProperties === 'object') return `object of ${typeOf(schema.additionalProperties)}`;
  const { type = 'anything', minimum, maximum, maxLength } = schema;
  const bounds = [
    minimum === undefined ? '' : `≥ ${minimum}`,
    maximum === undefined ? '' : `≤ ${maximum}`,
    maxLength === undefined ? '' : `≤ ${maxLength} characters`,
    schema.default === undefined ? '' : `default ${code(JSON.stringify(schema.default))}`,
  ].filter((bound) => bound !== '');
  return [[type].flat().join(' or '), ...bounds].join(', ');
}

function membersOf({ properties = {}, required = [] }: Schema): string {
  const rows = Object.entries(properties).map(([name, schema]) => [
    code(name),
    typeOf(schema),
    required.includes(name) ? 'yes' : '',
    cell(schema.description ?? ''),
  ]);
  return table(['member', 'type', 'required', 'meaning'], rows);
}

/** Links of the pages that the document names in its texts. */
const withLinks = (text: string): string =>
  cell(text).replaceAll(/docs\/((?:reference|guides)\/[\w-]+)\.md/g, (_, page) => `[${page}](../${page}.md)`);

function bodyOf(content: Content | undefined): string {
  return Object.entries(content ?? {})
    .map(([type, { schema }]) => `${code(type)}${schema === undefined ? '' : `: ${typeOf(schema)}`}`)
    .join('; ');
}

function operationText(document: Document, method: string, path: string, operation: Operation): string {
  const { parameters, responses } = document.components;
  const given = operation.parameters.map((each) => ('$ref' in each ? parameters[nameOf(each.$ref)] : each));
  const parameterRows = given
    .filter((each) => each !== undefined)
    .map((each) => [
      code(each.name),
      each.in,
      typeOf(each.schema),
      each.required ? 'yes' : '',
      cell(each.description ?? ''),
    ]);
  const members = Object.values(operation.requestBody?.content ?? {}).map(({ schema }) => membersOf(schema ?? {}));
  const answers = Object.entries(operation.responses).map(([status, each]) => {
    const { description = '', content } = ('$ref' in each ? responses[nameOf(each.$ref)] : each) ?? {};
    return [status, cell(description), bodyOf(content)];
  });
  const shown = answers.filter(([status = '']) => Number(status) < 400);
  const errors = answers.filter(([status = '']) => Number(status) >= 400).map(([status]) => status);
  return [
    `## ${operation.operationId}\n`,
    `${code(`${method.toUpperCase()} ${path}`)}\n`,
    `${withLinks(operation.description)}\n`,
    table(['parameter', 'in', 'type', 'required', 'meaning'], parameterRows),
    operation.requestBody === undefined ? '' : `Body: ${bodyOf(operation.requestBody.content)}\n`,
    ...members,
    table(['status', 'meaning', 'body'], shown),
    `Errors: ${errors.join(', ')} ([what they mean](http.md#errors)).\n`,
  ].join('\n');
}

/** Operations that are too many for one page stand by what they manage: the words that their paths have behind a domain's name. */
const groups: readonly (readonly [name: string, title: string, words: readonly string[]])[] = [
  ['management-roles', 'management of roles', ['roles']],
  ['management-groups', 'management of groups', ['groups']],
  ['management-policies', 'management of policies', ['policies']],
  ['management-services', 'management of services', ['services', 'instances']],
];

/** The page of an operation: of its group, or else of its tag. */
function pageOf(path: string, tag: string): readonly [name: string, title: string] {
  const word = /^\/management\/v1\/domains\/\{domainName\}\/(\w+)/.exec(path)?.[1] ?? '';
  const [name, title] = groups.find(([, , words]) => words.includes(word)) ?? [tag, tag];
  return [name, title];
}

/** The pages below `reference/` of a document, by name. */
export function operationPages(document: Document): Map<string, string> {
  const pages = new Map<string, string>();
  for (const { name: tag, description } of document.tags) {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        if (!operation.tags.includes(tag)) continue;
        const [name, title] = pageOf(path, tag);
        const page = `operations-${name}.md`;
        const before = pages.get(page) ?? `# Operations: ${title}\n\n${description}.\n`;
        pages.set(page, `${before}\n${operationText(document, method, path, operation)}`);
      }
    }
  }
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => {
    const text = membersOf(schema);
    return `## ${name}\n\n${cell(schema.description ?? '')}\n\n${text === '' ? typeOf(schema) : text}\n`;
  });
  pages.set('schemas.md', `# Schemas\n\nWhat is sent and answered, in JSON.\n\n${schemas.join('\n')}`);
  return pages;
}
