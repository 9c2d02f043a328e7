import type { JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { isCredentialName } from './credential-names.ts';
import type { ApiKeyPlace } from './imported.ts';
import type { FoundOperation } from './operations.ts';
import { parameterNodesOf } from './parameters.ts';
import { convertScheme, findSchemeAt, schemesMax } from './security.ts';
import type { Schemes } from './security.ts';
import { isUnsafeName, objectAt, textAt } from './source.ts';
import type { ImportSource } from './source.ts';

const schemeNameMax = 100;

/** The security schemes that an operation needs in addition to those of its `security`. */
export interface NeededSchemes {
  readonly names: readonly string[];
  /** Whether all or most operations need these schemes and do not work without them. */
  readonly isCommon: boolean;
}

export interface CredentialParameters {
  /** The declared schemes, and the schemes made from parameters. */
  readonly schemes: Schemes;
  readonly needed: readonly NeededSchemes[];
}

interface CredentialParameter {
  readonly schemeName: string;
  readonly isRequired: boolean;
}

interface KnownSecurity {
  /** The key of the template. */
  readonly key: string;
  readonly declared: Schemes;
  /** The alternatives of `security` in the document. */
  readonly stated: readonly JsonObject[] | undefined;
  readonly given: ApiKeyPlace | null;
}

/**
 * Makes security schemes of parameters whose names mean a credential, and of a key that the
 * importing person names, because agents must not be asked for credentials. If the document
 * declares schemes, only required parameters become further schemes. Undefined when the named key
 * cannot be a scheme.
 */
export function findCredentialParameters(
  source: ImportSource,
  operations: readonly FoundOperation[],
  { key, declared, stated, given }: KnownSecurity,
): CredentialParameters | undefined {
  const schemes = new Map(declared);
  const schemeNameAt = (node: DocumentNode<JsonObject>) =>
    addScheme(source, node, { key, schemes });
  const isSecured = stated?.some((each) => Object.keys(each).length > 0) === true;
  const hasOthers = declared.size > 0;
  const givenScheme = given && schemeNameAt({ value: { ...given }, path: [] });
  if (givenScheme === undefined) return undefined;
  const parametersByOwner = new Map<JsonObject, CredentialParameter[]>();
  const parametersOf = (owner: DocumentNode<JsonObject>) => {
    const known = parametersByOwner.get(owner.value);
    if (known !== undefined) return known;
    const parameters = parameterNodesOf(source, owner).flatMap((node): CredentialParameter[] => {
      if (!isCredentialName(node.value)) return [];
      const isRequired = node.value['required'] === true;
      const isKnown = hasSchemeAt(declared, node.value);
      if (isSecured ? isKnown || !isRequired : hasOthers && !isKnown && !isRequired) return [];
      const schemeName = schemeNameAt(node);
      return schemeName === undefined ? [] : [{ schemeName, isRequired }];
    });
    parametersByOwner.set(owner.value, parameters);
    return parameters;
  };
  const countsByNames = new Map<string, { names: string[]; isRequired: boolean; count: number }>();
  for (const { pathItem, operation } of operations) {
    const parameters = [...parametersOf(pathItem), ...parametersOf(operation)];
    for (const { names, isRequired } of combineSchemes(parameters, givenScheme)) {
      const id = names.join(' ');
      const count = (countsByNames.get(id)?.count ?? 0) + 1;
      countsByNames.set(id, { names, isRequired, count });
    }
  }
  const needed = [...countsByNames.values()]
    .map(({ names, isRequired, count }) => ({
      names,
      isCommon: isRequired && count * 2 >= operations.length,
    }))
    .toSorted((left, right) => right.names.length - left.names.length);
  return { schemes, needed };
}

/** Whether one of the schemes puts its credential where this parameter is. */
function hasSchemeAt(schemes: Schemes, parameter: JsonObject): boolean {
  return findSchemeAt(schemes, textAt(parameter, 'in'), textAt(parameter, 'name')) !== undefined;
}

/**
 * The schemes that one operation needs together. Each optional parameter makes a further
 * alternative.
 */
function combineSchemes(
  parameters: readonly CredentialParameter[],
  givenScheme: string | null,
): { names: string[]; isRequired: boolean }[] {
  const requiredNames = [
    ...(givenScheme === null ? [] : [givenScheme]),
    ...parameters.filter(({ isRequired }) => isRequired).map(({ schemeName }) => schemeName),
  ];
  const optionalNames = parameters
    .filter(({ isRequired }) => !isRequired)
    .map(({ schemeName }) => schemeName);
  const toNames = (names: readonly string[]) => [...new Set(names)].toSorted();
  return [
    ...(requiredNames.length > 0 ? [{ names: toNames(requiredNames), isRequired: true }] : []),
    ...optionalNames.map((name) => ({
      names: toNames([...requiredNames, name]),
      isRequired: false,
    })),
  ];
}

/** Adds the scheme of a parameter, unless it is there, and returns its name. */
function addScheme(
  source: ImportSource,
  { value, path }: DocumentNode<JsonObject>,
  { key, schemes }: { key: string; schemes: Map<string, JsonObject> },
): string | undefined {
  const parameterName = (textAt(value, 'name') ?? '').trim();
  const knownScheme = findSchemeAt(schemes, textAt(value, 'in'), parameterName);
  if (knownScheme !== undefined || schemes.size >= schemesMax) return knownScheme;
  const name = freeNameFor(parameterName, schemes);
  const scheme = convertScheme(source, { value: schemeOf(value), path }, { name, key });
  if (typeof scheme === 'string') {
    const message = `The parameter "${name}" carries a credential, but cannot become a security scheme: ${scheme}.`;
    source.notes.warn('auth_unsupported', path, message);
    return undefined;
  }
  schemes.set(name, scheme);
  const message = `"${name}" carries a credential: it became a security scheme. It is entered when the service is connected, and callers are not asked for it.`;
  source.notes.warn('auth_inferred', path, message);
  return name;
}

function freeNameFor(parameterName: string, schemes: Schemes): string {
  const name = parameterName.slice(0, schemeNameMax - 10);
  return schemes.has(name) || isUnsafeName(name) ? `${name}_parameter` : name;
}

/** The Security Scheme Object that says the same as a parameter (OpenAPI §4.8.27). */
function schemeOf(parameter: JsonObject): JsonObject {
  const { in: location = null } = parameter;
  const description = textAt(parameter, 'description') ?? '';
  const name = (textAt(parameter, 'name') ?? '').trim();
  if (location !== 'header' || name.toLowerCase() !== 'authorization')
    return { type: 'apiKey', in: location, name, description };
  const schema = objectAt(parameter, 'schema');
  const texts = [
    description,
    parameter['example'],
    schema['example'],
    schema['default'],
    schema['pattern'],
  ];
  const text = texts
    .filter((each) => typeof each === 'string')
    .join(' ')
    .slice(0, 5000);
  if (/\bbearer\b/i.test(text)) return { type: 'http', scheme: 'bearer', description };
  if (/\bbasic\b/i.test(text)) return { type: 'http', scheme: 'basic', description };
  const note =
    'The whole value of the header, with the word that it begins with, such as "Bearer".';
  return { type: 'apiKey', in: location, name, description: `${note} ${description}`.trim() };
}
