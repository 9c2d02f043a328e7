import { discoveryLimits } from '#contracts/mcp';
import type { ToolDefinition, ToolPin } from '#contracts/mcp';
import { compiledAction } from '#contracts/template';
import type { CompiledAction, CompiledParam } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { digestOf } from '#signing';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, JsonObject } from '../../document/domain/context.ts';
import { createFindings, pointerTo } from '../../document/domain/findings.ts';
import { hasHiddenCharacter, escapeHidden } from './hidden-text.ts';
import { checkSchema, expandSchema } from '../../document/domain/schema.ts';
import { readHeaderArguments } from './tool-headers.ts';

/** One tool of an MCP server: either an action, or the reason why the tool cannot be an action. */
export interface ReadTool {
  readonly definition: ToolDefinition;
  /** The hash of the tool's definition; a person accepts a definition by its hash. */
  readonly hash: string;
  readonly usable: (ToolPin & { readonly action: CompiledAction }) | null;
  readonly problem: string | null;
}

const toolNamePattern = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;
const summaryCharactersMax = 1_000;
const paramDescriptionCharactersMax = 4_000;
/**
 * The largest schema of one tool. Replacing references makes schemas larger, and a server may have
 * 500 tools.
 */
const schemaNodesMax = 5_000;
const reservedNames = new Set(['constructor', 'prototype']);

/**
 * Reads the untrusted definition of a tool. Long text is cut, and hidden characters are shown as
 * codes. A schema that does not compile makes the tool unusable. `destructiveHint` raises the risk;
 * no hint lowers the risk (docs/reference/permissions.md#risk).
 */
export function readTool(definition: ToolDefinition): ReadTool {
  const hash = digestOf(definition);
  try {
    return { definition, hash, usable: readUsable(definition, hash), problem: null };
  } catch (error) {
    if (!(error instanceof UnusableError)) throw error;
    return { definition, hash, usable: null, problem: error.message };
  }
}

/**
 * The total size of a server's tools. One message on the bus carries all tools, and a message holds
 * 4 MiB.
 */
const toolsBytesMax = 2_500_000;

/** Reads the tools of one server. Tools beyond the total size are unusable. */
export function readTools(definitions: readonly ToolDefinition[]): ReadTool[] {
  let totalBytes = 0;
  return definitions.map((definition) => {
    const readResult = readTool(definition);
    if (readResult.usable === null) return readResult;
    const toolBytes = Buffer.byteLength(JSON.stringify(readResult.usable));
    if (totalBytes + toolBytes > toolsBytesMax) {
      const problem = 'The tools of its server take too much room together.';
      return { ...readResult, usable: null, problem };
    }
    totalBytes += toolBytes;
    return readResult;
  });
}

/**
 * Thrown with the reason why a tool cannot be used. The reason is shown to people, so it contains
 * only fixed text and names with their hidden characters as codes.
 */
class UnusableError extends Error {
  override readonly name = 'Unusable';
}

function readUsable(definition: ToolDefinition, hash: string): NonNullable<ReadTool['usable']> {
  const { name, title, description, inputSchema } = definition;
  if (!toolNamePattern.test(name) || reservedNames.has(name)) {
    throw new UnusableError(
      'Its name is not of letters, digits, "_", "." and "-" with a letter first.',
    );
  }
  if (Buffer.byteLength(JSON.stringify(definition)) > discoveryLimits.definitionBytes) {
    throw new UnusableError('Its definition is larger than 64 KiB.');
  }
  const { properties, required, schema } = readInputSchema(inputSchema ?? { type: 'object' });
  const params = Object.entries(properties).map(([key, value]) =>
    toParam(key, isObject(value) ? value : {}, required.includes(key)),
  );
  const text = [title, description].find((each) => typeof each === 'string' && each.trim() !== '');
  const action: CompiledAction = {
    key: name,
    method: 'POST',
    path: '/',
    summary: escapeHidden(typeof text === 'string' ? text : name).slice(0, summaryCharactersMax),
    // The approver of a call sees this fixed text, because a text from the server could deceive.
    description: [{ text: `Call the tool ${name}` }],
    risk: isDestructive(definition) ? 'delete' : 'write',
    scopeParam: null,
    params,
    paramsSchema: schema,
    body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
    disclose: [],
    redact: [],
    responseType: 'json',
    minimumScopes: null,
    disabled: false,
  };
  if (!compiledAction.safeParse(action).success) {
    throw new UnusableError('It has too many parameters, or names that are too long.');
  }
  const headers = readHeaderArguments(inputSchema);
  if (headers === undefined)
    throw new UnusableError('Its x-mcp-header is not as the protocol has it.');
  return { action, hash, headers };
}

function isDestructive({ annotations }: ToolDefinition): boolean {
  return isObject(annotations) && annotations['destructiveHint'] === true;
}

interface InputSchema {
  readonly properties: JsonObject;
  readonly required: readonly JsonValue[];
  readonly schema: JsonObject;
}

/**
 * Reads the schema of a tool's arguments: replaces references, shows hidden characters in
 * descriptions as codes, and makes the schema refuse undeclared properties.
 */
function readInputSchema(source: JsonValue): InputSchema {
  if (!isObject(source)) throw new UnusableError('Its inputSchema is no schema.');
  const findings = createFindings((path) => ({ pointer: pointerTo(path), line: null }));
  const context: CompileContext = {
    document: source,
    findings,
    options: { tier: 'user', ownerId: null, version: 1 },
    budget: { schemaNodes: schemaNodesMax },
    checkedSchemas: new Map(),
  };
  const expanded = expandSchema(context, { value: source, path: [] }, ['#']);
  if (isObject(expanded) && findings.report().valid) {
    checkSchema(context, { value: expanded, path: [] });
  }
  const [problem] = findings.report().errors;
  if (problem !== undefined || !isObject(expanded)) {
    const message = problem?.message ?? 'It is no schema.';
    throw new UnusableError(
      `Its inputSchema cannot be used: ${escapeHidden(message)}`.slice(0, 500),
    );
  }
  const { type = 'object', properties = {}, required = [] } = expanded;
  if (type !== 'object' || !isObject(properties) || !Array.isArray(required)) {
    throw new UnusableError('Its inputSchema does not describe an object.');
  }
  if (hasHiddenCharacters(expanded)) {
    throw new UnusableError('Names or values of its inputSchema contain invisible characters.');
  }
  const shownSchema = escapeTexts(expanded) as JsonObject;
  return {
    properties:
      shownSchema['properties'] === undefined ? {} : (shownSchema['properties'] as JsonObject),
    required,
    schema: {
      ...shownSchema,
      type: 'object',
      properties: shownSchema['properties'] ?? {},
      additionalProperties: false,
    },
  };
}

function toParam(name: string, schema: JsonObject, required: boolean): CompiledParam {
  const { description, default: _default, ...rest } = schema;
  return {
    name,
    wireName: name,
    in: 'body',
    style: 'simple',
    required,
    description:
      typeof description === 'string' ? description.slice(0, paramDescriptionCharactersMax) : '',
    schema: rest,
    explode: false,
    allowReserved: false,
    resolve: null,
  };
}

const textKeywords = new Set(['description', 'title']);

/**
 * Whether a name or value in the schema contains hidden characters. In a description they can be
 * shown as codes; in a name or value that would change the meaning, so the tool is refused.
 */
function hasHiddenCharacters(value: JsonValue): boolean {
  if (typeof value === 'string') return hasHiddenCharacter(value);
  if (Array.isArray(value)) return value.some(hasHiddenCharacters);
  if (!isObject(value)) return false;
  return Object.entries(value).some(([key, each]) => {
    const isText = textKeywords.has(key) && typeof each === 'string';
    return hasHiddenCharacter(key) || (!isText && hasHiddenCharacters(each));
  });
}

function escapeTexts(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(escapeTexts);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      textKeywords.has(key) && typeof each === 'string' ? escapeHidden(each) : escapeTexts(each),
    ]),
  );
}
