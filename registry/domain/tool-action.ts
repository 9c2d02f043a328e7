import { discoveryLimits } from '#contracts/mcp';
import type { ToolDefinition, ToolPin } from '#contracts/mcp';
import { compiledAction } from '#contracts/template';
import type { CompiledAction, CompiledParam } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { digestOf } from '#signing';
import { isObject } from './context.ts';
import type { Context, JsonObject } from './context.ts';
import { createFindings, pointerTo } from './findings.ts';
import { hasHidden, visible } from './hidden-text.ts';
import { checkSchema, expandSchema } from './schema.ts';
import { readMirrors } from './tool-headers.ts';

/** A tool read for use: as an action, or with the reason why it cannot be one. */
export interface ReadTool {
  readonly definition: ToolDefinition;
  /** Names the definition. */
  readonly hash: string;
  readonly usable: (ToolPin & { readonly action: CompiledAction }) | null;
  readonly problem: string | null;
}

const toolName = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;
const summaryMax = 1_000;
const paramDescriptionMax = 4_000;
/** Of one tool: schemas unfold, and there may be five hundred of them. */
const schemaNodesMax = 5_000;
const reservedNames = new Set(['constructor', 'prototype']);

/**
 * Reads what a server says of a tool, which is a stranger's word: text is cut and its hidden
 * characters are shown; a schema that cannot be compiled makes the tool unusable; `destructiveHint`
 * raises the risk, and no hint lowers it (docs/reference/permissions.md#risk).
 */
export function readTool(definition: ToolDefinition): ReadTool {
  const hash = digestOf(definition);
  try {
    return { definition, hash, usable: usableOf(definition, hash), problem: null };
  } catch (thrown) {
    if (!(thrown instanceof Unusable)) throw thrown;
    return { definition, hash, usable: null, problem: thrown.message };
  }
}

/** They cross the bus together in one message, whose limit is 4 MiB. */
const toolsBytesMax = 2_500_000;

/** The tools of one server. What does not fit beside the ones before it cannot be used. */
export function readTools(definitions: readonly ToolDefinition[]): ReadTool[] {
  let bytes = 0;
  return definitions.map((definition) => {
    const read = readTool(definition);
    if (read.usable === null) return read;
    const size = Buffer.byteLength(JSON.stringify(read.usable));
    if (bytes + size > toolsBytesMax) {
      const problem = 'The tools of its server take too much room together.';
      return { ...read, usable: null, problem };
    }
    bytes += size;
    return read;
  });
}

/** Why a tool cannot be used; never shows more than our own words and a name made visible. */
class Unusable extends Error {
  override readonly name = 'Unusable';
}

function usableOf(definition: ToolDefinition, hash: string): NonNullable<ReadTool['usable']> {
  const { name, title, description, inputSchema } = definition;
  if (!toolName.test(name) || reservedNames.has(name)) {
    throw new Unusable('Its name is not of letters, digits, "_", "." and "-" with a letter first.');
  }
  if (Buffer.byteLength(JSON.stringify(definition)) > discoveryLimits.definitionBytes) {
    throw new Unusable('Its definition is larger than 64 KiB.');
  }
  const { properties, required, schema } = readInputSchema(inputSchema ?? { type: 'object' });
  const params = Object.entries(properties).map(([key, value]) =>
    paramOf(key, isObject(value) ? value : {}, required.includes(key)),
  );
  const text = [title, description].find((each) => typeof each === 'string' && each.trim() !== '');
  const action: CompiledAction = {
    key: name,
    method: 'POST',
    path: '/',
    summary: visible(typeof text === 'string' ? text : name).slice(0, summaryMax),
    // What a person approves is said in our words; the server's would be the ones to deceive with.
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
    throw new Unusable('It has too many parameters, or names that are too long.');
  }
  const headers = readMirrors(inputSchema);
  if (headers === undefined) throw new Unusable('Its x-mcp-header is not as the protocol has it.');
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

/** References are unfolded, descriptions made visible, and what is not declared is not accepted. */
function readInputSchema(source: JsonValue): InputSchema {
  if (!isObject(source)) throw new Unusable('Its inputSchema is no schema.');
  const findings = createFindings((path) => ({ pointer: pointerTo(path), line: null }));
  const context: Context = {
    document: source,
    findings,
    options: { tier: 'user', ownerId: null, version: 1 },
    budget: { schemaNodes: schemaNodesMax },
    judged: new Map(),
  };
  const expanded = expandSchema(context, { value: source, path: [] }, ['#']);
  if (isObject(expanded) && findings.report().valid) {
    checkSchema(context, { value: expanded, path: [] });
  }
  const [problem] = findings.report().errors;
  if (problem !== undefined || !isObject(expanded)) {
    const message = problem?.message ?? 'It is no schema.';
    throw new Unusable(`Its inputSchema cannot be used: ${visible(message)}`.slice(0, 500));
  }
  const { type = 'object', properties = {}, required = [] } = expanded;
  if (type !== 'object' || !isObject(properties) || !Array.isArray(required)) {
    throw new Unusable('Its inputSchema does not describe an object.');
  }
  if (hidesSomething(expanded)) {
    throw new Unusable('Names or values of its inputSchema hold characters that nobody sees.');
  }
  const shown = withVisibleText(expanded) as JsonObject;
  return {
    properties: shown['properties'] === undefined ? {} : (shown['properties'] as JsonObject),
    required,
    schema: {
      ...shown,
      type: 'object',
      properties: shown['properties'] ?? {},
      additionalProperties: false,
    },
  };
}

function paramOf(name: string, schema: JsonObject, required: boolean): CompiledParam {
  const { description, default: _default, ...rest } = schema;
  return {
    name,
    wireName: name,
    in: 'body',
    style: 'simple',
    required,
    description: typeof description === 'string' ? description.slice(0, paramDescriptionMax) : '',
    schema: rest,
    explode: false,
    allowReserved: false,
    resolve: null,
  };
}

const textKeywords = new Set(['description', 'title']);

/** Text is shown spelled out; in names and values that would change what they mean. */
function hidesSomething(value: JsonValue): boolean {
  if (typeof value === 'string') return hasHidden(value);
  if (Array.isArray(value)) return value.some(hidesSomething);
  if (!isObject(value)) return false;
  return Object.entries(value).some(([key, each]) => {
    const isText = textKeywords.has(key) && typeof each === 'string';
    return hasHidden(key) || (!isText && hidesSomething(each));
  });
}

function withVisibleText(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withVisibleText);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      textKeywords.has(key) && typeof each === 'string' ? visible(each) : withVisibleText(each),
    ]),
  );
}
