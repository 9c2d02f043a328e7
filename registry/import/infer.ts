import type { HttpMethod, Risk } from '#contracts/vocabulary';
import { isObject } from '../domain/context.ts';
import type { JsonObject, Place } from '../domain/context.ts';
import type { Parameter } from './parameters.ts';
import { follow, objectAt, shorten, textAt } from './source.ts';
import type { Source } from './source.ts';

const deletes = new Set(['delete', 'remove', 'destroy', 'purge', 'erase', 'wipe', 'terminate']);
/** Words that, standing first or last in a name, are said of changes only. */
const changes = new Set([
  'create',
  'add',
  'insert',
  'update',
  'edit',
  'modify',
  'upsert',
  'save',
  'upload',
  'send',
  'cancel',
  'revoke',
  'reset',
  'restart',
  'reboot',
  'enable',
  'disable',
  'activate',
  'deactivate',
  'subscribe',
  'unsubscribe',
  'invite',
  'approve',
  'reject',
  'publish',
  'archive',
  'unarchive',
  'execute',
  'trigger',
  'pay',
  'refund',
  'withdraw',
  'logout',
  'set',
  'ban',
  'unban',
  'kick',
  'pin',
  'unpin',
  'start',
  'stop',
  'attach',
  'detach',
]);
const methodWords = new Set(['get', 'post', 'put', 'patch', 'delete', 'head', 'options']);

/** What follows from the method alone; also what a template without `x-service-risk` means. */
export function riskOfMethod(method: HttpMethod | 'TRACE'): Risk {
  if (method === 'DELETE') return 'delete';
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'read' : 'write';
}

/**
 * The method's risk, raised where the operation's name says that it does more: `GET /user/delete`
 * deletes. Never lowered: a search by POST stays a write until a person says otherwise, because
 * what is taken for a read runs without being asked for.
 */
export function inferRisk(method: HttpMethod | 'TRACE', names: readonly string[]): Risk {
  const risk = riskOfMethod(method);
  if (risk === 'delete') return risk;
  const verbs = names.flatMap((name) => name.split(/[./]/)).flatMap(verbsOf);
  if (verbs.some((verb) => deletes.has(verb))) return 'delete';
  return risk === 'read' && verbs.some((verb) => changes.has(verb)) ? 'write' : risk;
}

/** The first and the last word of a name, without the method: `deleteUser`, `user_remove`, `GET_AddUser`. */
function verbsOf(name: string): string[] {
  const words = wordsOf(name);
  const rest = words.length > 1 && methodWords.has(words[0] ?? '') ? words.slice(1) : words;
  return [words[0] ?? '', rest[0] ?? '', rest.at(-1) ?? ''];
}

export function wordsOf(name: string): string[] {
  return name
    .slice(0, 500)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}

/** Say which form of the answer is meant, not which resource. */
const notResources = /^(?:api_?)?(?:version|ver|v|format|locale|lang|language|extension|ext)$/i;
const containers =
  /^(?:channel|chat|project|workspace|organi[sz]ation|org|team|account|repository|repo|board|space|folder|database|calendar|site|store|tenant|group|room)(?:_?id|Id|ID)?$/;

/**
 * The parameter that rules for an action are bound to. The first one of the path names the
 * outermost resource, whose name means the same everywhere; an inner one would not: `site` is
 * a repository of everybody (`/repos/{owner}/{repo}`).
 */
export function inferScopeParam(
  parameters: readonly Parameter[],
  { path, requestBody }: { path: string; requestBody: JsonObject | undefined },
): string | undefined {
  const inPath = parameters
    .filter((parameter) => parameter.in === 'path' && isScope(parameter['schema']))
    .map(({ name }) => name)
    .filter((name) => !notResources.test(name))
    .toSorted((a, b) => path.indexOf(`{${a}}`) - path.indexOf(`{${b}}`));
  if (inPath[0] !== undefined) return inPath[0];
  const query = parameters.find(
    (parameter) =>
      parameter.in === 'query' &&
      parameter['required'] === true &&
      containers.test(parameter.name) &&
      isScope(parameter['schema']),
  );
  return query === undefined ? containerInBody(requestBody) : query.name;
}

/** Only where the compiler makes one parameter per property. */
function containerInBody(requestBody: JsonObject | undefined): string | undefined {
  if (requestBody?.['required'] !== true) return undefined;
  const [type, media] = Object.entries(objectAt(requestBody, 'content'))[0] ?? [];
  const schema = objectAt(media, 'schema');
  const isSplit = /json|form/.test(type ?? '') && schema['type'] === 'object';
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const isPlain = !['allOf', 'anyOf', 'oneOf', 'not', 'if', 'additionalProperties'].some(
    (key) => key in schema,
  );
  if (!isSplit || !isPlain) return undefined;
  const properties = objectAt(schema, 'properties');
  return Object.keys(properties).find(
    (name) => required.includes(name) && containers.test(name) && isScope(properties[name]),
  );
}

/** A single value that callers give: nothing with a value of its own. */
function isScope(schema: unknown): boolean {
  if (!isObject(schema) || 'default' in schema || 'const' in schema) return false;
  return schema['type'] === 'string' || schema['type'] === 'integer';
}

const textual =
  /json|xml|^text\/|x-www-form-urlencoded|yaml|javascript|^application\/(?:graphql|problem)/i;

/** Whether a successful answer is a file. */
export function inferResponseType(source: Source, operation: Place<JsonObject>): 'json' | 'binary' {
  const responses = Object.entries(objectAt(operation.value, 'responses'));
  const types = responses
    .filter(([status]) => /^2(?:\d\d|XX)$/i.test(status))
    .flatMap(([status, value]) => {
      const at = follow(source, { value, path: [...operation.path, 'responses', status] });
      return at === undefined ? [] : Object.entries(objectAt(at.value, 'content'));
    });
  const isFile = ([type, media]: (typeof types)[number]) =>
    type.includes('*') ? objectAt(media, 'schema')['format'] === 'binary' : !textual.test(type);
  return types.length > 0 && types.every(isFile) ? 'binary' : 'json';
}

const summaryCharactersMax = 200;

/** One line for people, with what the path names filled in, so that whoever approves sees it. */
export function inferSummary(
  operation: JsonObject,
  { operationId, parameters }: { operationId: string; parameters: readonly Parameter[] },
): { summary: string; isInferred: boolean } {
  const given = firstSentence(textAt(operation, 'summary') ?? '');
  const described = given === '' ? firstSentence(textAt(operation, 'description') ?? '') : given;
  const text = described === '' ? humanised(operationId) : described;
  const named = parameters
    .filter((parameter) => parameter.in === 'path')
    .map(({ name }) => name)
    .filter((name) => /^[^{}[\]\\]+$/.test(name))
    .slice(0, 4)
    .map((name) => `${name} {${name}}`);
  const suffix = named.length === 0 ? '' : ` (${named.join(', ')})`;
  return { summary: `${escaped(text)}${suffix}`, isInferred: given === '' || suffix !== '' };
}

function firstSentence(text: string): string {
  const line = text
    .slice(0, 2000)
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const sentence = /^.{10,}?[.!?](?= )/.exec(line)?.[0] ?? line;
  return shorten(sentence.replace(/\.$/, ''), summaryCharactersMax);
}

function humanised(operationId: string): string {
  const text = wordsOf(operationId).join(' ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** Escapes braces and brackets, which have a meaning in a summary (docs/writing-templates.md#fields). */
function escaped(text: string): string {
  return text.replaceAll(/[{}[\]\\]/g, (mark) => `\\${mark}`);
}
