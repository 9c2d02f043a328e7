import type { HttpMethod, Risk } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';
import type { JsonObject, DocumentNode } from '../../document/domain/context.ts';
import type { Parameter } from './parameters.ts';
import type { OperationWords } from './sentences.ts';
import { followReference, objectAt } from './source.ts';
import type { ImportSource } from './source.ts';
import { wordsOf } from './words.ts';

const deleteVerbs = new Set(['delete', 'remove', 'destroy', 'purge', 'erase', 'wipe', 'terminate']);
/** Words that mean a change when an operation's name begins or ends with them. */
const changeVerbs = new Set([
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

/**
 * The risk that the HTTP method alone suggests. A template without `x-service-risk` has this risk.
 */
export function riskOfMethod(method: HttpMethod | 'TRACE'): Risk {
  if (method === 'DELETE') return 'delete';
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'read' : 'write';
}

/**
 * Infers the risk of an operation from its method, and raises the risk when the name says that the
 * operation does more: `GET /user/delete` deletes. The risk is never lowered, because agents may
 * make reads without approval: a search by POST stays a write until a person changes its risk.
 */
export function inferRisk(method: HttpMethod | 'TRACE', words: readonly string[]): Risk {
  const risk = riskOfMethod(method);
  if (risk === 'delete') return risk;
  const verbs = words.flatMap((name) => name.split(/[./]/)).flatMap(verbsOf);
  if (verbs.some((verb) => deleteVerbs.has(verb))) return 'delete';
  return risk === 'read' && verbs.some((verb) => changeVerbs.has(verb)) ? 'write' : risk;
}

/**
 * The first and the last word of an operation's name, where the verb usually is: `deleteUser`,
 * `user_remove`. A leading HTTP method is skipped: `GET_AddUser`.
 */
function verbsOf(name: string): string[] {
  const words = wordsOf(name);
  const wordsAfterMethod =
    words.length > 1 && methodWords.has(words[0] ?? '') ? words.slice(1) : words;
  return [words[0] ?? '', wordsAfterMethod[0] ?? '', wordsAfterMethod.at(-1) ?? ''];
}

/**
 * Matches path parameters that choose a version, format or language of the answer. They do not name
 * a resource.
 */
const nonResourceParam = /^(?:api_?)?(?:version|ver|v|format|locale|lang|language|extension|ext)$/i;
const containerParam =
  /^(?:channel|chat|project|workspace|organi[sz]ation|org|team|account|repository|repo|board|space|folder|database|calendar|site|store|tenant|group|room)(?:_?id|Id|ID)?$/;

/**
 * Chooses the parameter whose value becomes the last part of the permission key. The first path
 * parameter names the outermost resource and is unique on its own. A later one is not: in
 * `/repos/{owner}/{repo}`, many owners have a repository `site`.
 */
export function inferScopeParam(
  parameters: readonly Parameter[],
  { path, requestBody }: { path: string; requestBody: JsonObject | undefined },
): string | undefined {
  const resourceParamsInPath = parameters
    .filter((parameter) => parameter.in === 'path' && canBeScopeParam(parameter['schema']))
    .map(({ name }) => name)
    .filter((name) => !nonResourceParam.test(name))
    .toSorted((a, b) => path.indexOf(`{${a}}`) - path.indexOf(`{${b}}`));
  if (resourceParamsInPath[0] !== undefined) return resourceParamsInPath[0];
  const query = parameters.find(
    (parameter) =>
      parameter.in === 'query' &&
      parameter['required'] === true &&
      containerParam.test(parameter.name) &&
      canBeScopeParam(parameter['schema']),
  );
  return query === undefined ? findContainerInBody(requestBody) : query.name;
}

/**
 * Finds a required body property that names the containing resource, such as a project. Only a body
 * whose properties become separate parameters can have one.
 */
function findContainerInBody(requestBody: JsonObject | undefined): string | undefined {
  if (requestBody?.['required'] !== true) return undefined;
  const [type, media] = Object.entries(objectAt(requestBody, 'content'))[0] ?? [];
  const schema = objectAt(media, 'schema');
  const isSplit = /json|form/.test(type ?? '') && schema['type'] === 'object';
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const isPlainObject = !['allOf', 'anyOf', 'oneOf', 'not', 'if', 'additionalProperties'].some(
    (key) => key in schema,
  );
  if (!isSplit || !isPlainObject) return undefined;
  const properties = objectAt(schema, 'properties');
  return Object.keys(properties).find(
    (name) =>
      required.includes(name) && containerParam.test(name) && canBeScopeParam(properties[name]),
  );
}

/**
 * Whether a parameter with this schema can be the scope parameter: callers choose one value, so not
 * for a list, an object or a constant.
 */
function canBeScopeParam(schema: unknown): boolean {
  if (!isObject(schema) || 'default' in schema || 'const' in schema) return false;
  return schema['type'] === 'string' || schema['type'] === 'integer';
}

const textMediaType =
  /json|xml|^text\/|x-www-form-urlencoded|yaml|javascript|^application\/(?:graphql|problem)/i;

/** Infers the response type: binary when all successful responses are files. */
export function inferResponseType(
  source: ImportSource,
  operation: DocumentNode<JsonObject>,
): 'json' | 'binary' {
  const responses = Object.entries(objectAt(operation.value, 'responses'));
  const types = responses
    .filter(([status]) => /^2(?:\d\d|XX)$/i.test(status))
    .flatMap(([status, value]) => {
      const responseNode = followReference(source, {
        value,
        path: [...operation.path, 'responses', status],
      });
      return responseNode === undefined
        ? []
        : Object.entries(objectAt(responseNode.value, 'content'));
    });
  const isFile = ([type, media]: (typeof types)[number]) =>
    type.includes('*')
      ? objectAt(media, 'schema')['format'] === 'binary'
      : !textMediaType.test(type);
  return types.length > 0 && types.every(isFile) ? 'binary' : 'json';
}

const summaryPathCharactersMax = 200;

interface SummaryContext {
  readonly operationId: string;
  readonly path: string;
  readonly words: OperationWords;
  /** The path parameters. */
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
}

/**
 * A one-line summary that contains the path parameters, so that an approver sees their values. Where
 * the document has no sentence for this operation alone, its id and path say what it is.
 */
export function inferSummary({ operationId, path, words, parameters }: SummaryContext): {
  summary: string;
  isInferred: boolean;
} {
  const names = parameters
    .filter((parameter) => parameter.in === 'path')
    .map(({ name }) => name)
    .filter((name) => /^[^{}[\]\\]+$/.test(name));
  const { sentence, isSummary } = words;
  if (sentence === undefined && path.length <= summaryPathCharactersMax) {
    const shownPath = path.replaceAll(/\{([^{}]*)\}|[{}[\]\\]/g, (mark, name: string | undefined) =>
      name !== undefined && names.includes(name) ? mark : escapeSummary(mark),
    );
    return { summary: `${toReadableName(operationId)} at ${shownPath}`, isInferred: true };
  }
  const text = escapeSummary(sentence ?? toReadableName(operationId));
  const shownNames = names.slice(0, 4).map((name) => `${name} {${name}}`);
  const suffix = shownNames.length === 0 ? '' : ` (${shownNames.join(', ')})`;
  return { summary: text + suffix, isInferred: !isSummary || suffix !== '' };
}

function toReadableName(operationId: string): string {
  const text = wordsOf(operationId).join(' ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/**
 * Escapes braces and brackets, because they are syntax in a summary
 * (docs/writing-templates.md#fields).
 */
function escapeSummary(text: string): string {
  return text.replaceAll(/[{}[\]\\]/g, (mark) => `\\${mark}`);
}
