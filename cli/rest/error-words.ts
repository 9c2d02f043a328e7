import type { ErrorEnvelope } from '#contracts/http/errors';
import type { CommandRow } from '../command.ts';

/**
 * What a person writes for a field of the request, or instead of a request that messages name. A
 * field that is called like its option or argument needs no entry: `{ expires_at: '--expires' }`.
 */
export type Fields = Readonly<Record<string, string>>;

/** The parts of the row of a command from which the words for fields come. */
export interface WordedRow extends Pick<CommandRow, 'usage' | 'options'> {
  readonly fields?: Fields;
}

/** The action of the gateway's own service by which the caller asks a person for something. */
const requestCommand = '"action-gateway call platform request_service"';

/**
 * What messages to all commands may name. Of two entries that fit, the first one counts.
 * `service_auth` is a tool of MCP.
 */
const commonFields: Fields = {
  'service_auth (request_service) or POST /v1/requests': `${requestCommand}; people connect one with "action-gateway services connect"`,
  'the tool service_auth or POST /v1/requests': requestCommand,
  'POST /v1/requests': requestCommand,
  'GET /v1/search': '"action-gateway search"',
  '`available`': '"action-gateway services list"',
};

const wrongPartPattern =
  /^The (?:path|query string|body) is not valid; correct the \w+ named in issues\.$/;
/** A field in a sentence: `as_is: true`, `credentials.secrets.key`. A single word may be English. */
const fieldPattern = /(?:\b(send|under) )?\b([a-z]+(?:[_.][\w-]+)*)(: true)?/g;

/**
 * Puts the options and arguments of a command into an error of the gateway, which names the fields
 * of the request.
 */
export function sayInWordsOf(row: WordedRow, envelope: ErrorEnvelope): ErrorEnvelope {
  const { error, message, issues, next } = envelope;
  const fields = { ...fieldsOf(row), ...commonFields, ...row.fields };
  // Such an error is about the parameters of the action, which may be called like an option.
  const isAboutParams = error === 'invalid_params' && takesParams(row);
  const say = (path: string): string => {
    if (!isAboutParams) return sayPath(fields, path) ?? path;
    return path === '' || path === 'params' ? '--param' : `--param ${path}`;
  };
  const wrongFields: readonly unknown[] = Array.isArray(issues) ? issues : [];
  const paths = wrongFields.map(pathOf);
  const sentence = isAboutParams ? message : sayFields(fields, message);
  const sayIssue = (issue: unknown) => {
    const path = pathOf(issue);
    return path === undefined ? issue : { ...Object(issue), path: say(path) };
  };
  return {
    ...envelope,
    message: wrongPartPattern.test(message)
      ? 'Correct the command:'
      : sentence.replaceAll(/(^|: )(\S+)(?= )/g, (text, start: string, word: string) =>
          paths.includes(word) ? `${start}${say(word)}` : text,
        ),
    ...(wrongFields.length > 0 && { issues: wrongFields.map(sayIssue) }),
    ...(next?.say !== undefined && { next: { ...next, say: sayFields(fields, next.say) } }),
  } as ErrorEnvelope;
}

/** The fields that are called like an argument or an option of the command. */
function fieldsOf({ usage, options = [] }: WordedRow): Fields {
  const ownOptions = options.map(([flags]) => flags.split(' ', 1)[0] ?? '');
  const ownArguments = usage.match(/(?<=[<[])[a-z-]+/g) ?? [];
  return Object.fromEntries([
    ...ownOptions.map((option) => [option.slice(2).replaceAll('-', '_'), option]),
    ...ownArguments.map((name) => [name.replaceAll('-', '_'), `<${name}>`]),
  ]) as Fields;
}

function takesParams({ options = [] }: WordedRow): boolean {
  return options.some(([flags]) => flags.startsWith('--param '));
}

function pathOf(issue: unknown): string | undefined {
  const { path } = Object(issue) as { path?: unknown };
  return typeof path === 'string' ? path : undefined;
}

/** The words for `field`, `field.0` or `field.name`; undefined if the command has no such field. */
function sayPath(fields: Fields, path: string): string | undefined {
  const names = Object.keys(fields).filter((name) => path === name || path.startsWith(`${name}.`));
  const field = names.toSorted((one, other) => other.length - one.length)[0];
  if (field === undefined) return undefined;
  const members = path.slice(field.length + 1).replace(/^\d+\.?/, '');
  return `${fields[field]}${members === '' ? '' : ` ${members}`}`;
}

function sayFields(fields: Fields, message: string): string {
  const text = Object.entries(fields).reduce(
    (said, [name, word]) => (/^[\w.]+$/.test(name) ? said : said.replaceAll(name, word)),
    message,
  );
  const nestedFields = Object.fromEntries(
    Object.entries(fields).filter(([name]) => name.includes('.')),
  );
  return text.replaceAll(fieldPattern, (found, verb = '', path: string, value = '') => {
    // `data.example.com` is a host, and no member of the field `data`.
    const knownFields = /^[a-z]+\.\D/.test(path) ? nestedFields : fields;
    const word = /[_.]/.test(path) || value !== '' ? sayPath(knownFields, path) : undefined;
    if (word === undefined) return found;
    if (verb === '') return word;
    return `${verb === 'send' ? 'add' : 'with'} ${word}`;
  });
}
