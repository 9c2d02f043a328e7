import type { CompiledAction, CompiledParam } from '../contracts/template.ts';
import type { JsonValue } from '../contracts/vocabulary.ts';
import {
  givenValueOf,
  isAbsent,
  limitSentSize,
  takenNameOf,
  toJoinedText,
  toPairTexts,
} from './styles.ts';
import { percentEncode, percentEncodeExcept, invalidParam } from './text.ts';

type Params = Readonly<Record<string, JsonValue>>;

/**
 * Reserved characters that a path or a query keeps unencoded when the parameter says
 * `allowReserved`.
 */
const reservedInPath = '/:@!$&+,;=';
const reservedInQuery = '/:@!$,;?';

/**
 * The limit that a call by HTTP method and path has, too; code that reads paths relies on this
 * limit.
 */
const pathCharactersMax = 8_192;
/** The query of a call by HTTP method and path has at most this many characters, not yet encoded. */
const queryBytesMax = 3 * 65_536;

/**
 * The path of an action's request below the base URL. Policy uses it to find the other operations
 * that the request may be, and the executor sends it. Refuses values that would turn it into the path of another
 * operation.
 */
export function actionPathOf(action: CompiledAction, params: Params): string {
  const paramsByName = new Map(
    action.params.filter((param) => param.in === 'path').map((param) => [param.name, param]),
  );
  let charactersLeft = pathCharactersMax - action.path.length;
  const path = action.path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const param = paramsByName.get(name);
    const value = givenValueOf(params, name);
    if (param === undefined || isAbsent(value)) {
      throw invalidParam(name, 'is missing and part of the path');
    }
    return toJoinedText(value, param, (text) => {
      charactersLeft -= text.length;
      if (charactersLeft < 0) {
        throw invalidParam(name, `makes the path longer than ${pathCharactersMax} characters`);
      }
      return toPathText(text, param);
    });
  });
  refuseDotSegments(path, paramsByName);
  return path;
}

/** The query of an action's request without `?`, in the template's order; empty when there is none. */
export function actionQueryOf(action: CompiledAction, params: Params): string {
  const queryParams = action.params.filter((param) => param.in === 'query');
  const declaredNames = new Set(queryParams.map((param) => param.wireName));
  const size = limitSentSize(queryBytesMax, 'query');
  return queryParams
    .flatMap((param) => {
      const value = givenValueOf(params, param.name);
      if (isAbsent(value)) return [];
      const takenName = takenNameOf(value, param, declaredNames);
      if (takenName !== undefined) {
        throw invalidParam(param.name, `holds "${takenName}", which is a parameter of its own`);
      }
      return toPairTexts(value, { ...param, size }, (text) =>
        param.allowReserved
          ? percentEncodeExcept(text, param.name, reservedInQuery)
          : percentEncode(text, param.name),
      );
    })
    .join('&');
}

/**
 * `/` is encoded unless the template allows it. A dot segment is refused even when its `/` is
 * encoded.
 */
function toPathText(text: string, { name, allowReserved }: CompiledParam): string {
  if (text === '') throw invalidParam(name, 'must not be empty');
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(text))
    throw invalidParam(name, 'must not hold control characters');
  const segments = text.split(/[\\/]/);
  if (segments.some(isDotSegment)) {
    throw invalidParam(name, 'must not hold "." or ".." as a part of a path');
  }
  if (!allowReserved) return percentEncode(text, name);
  if (segments.includes(''))
    throw invalidParam(name, 'must not begin or end with "/" or hold "//"');
  return percentEncodeExcept(text, name, reservedInPath);
}

/**
 * Two harmless values side by side, or a value behind the dot of style `label`, may still form a
 * dot segment.
 */
function refuseDotSegments(path: string, params: ReadonlyMap<string, unknown>): void {
  const [beforeQuery = ''] = path.split('?');
  const segments = decodeURIComponent(beforeQuery).split(/[\\/]/);
  if (segments.some(isDotSegment)) {
    const name = params.size === 1 ? [...params.keys()].join() : 'params';
    throw invalidParam(name, 'must not make "." or ".." a part of the path');
  }
}

/** Some servers remove `;…` before they resolve dot segments. */
function isDotSegment(segment: string): boolean {
  return /^\.\.?(;|$)/.test(segment);
}
