import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, DocumentNode, JsonObject } from '../../document/domain/context.ts';
import { entryNodesOf, readList } from '../../document/domain/reading.ts';

/** The phrases by which people ask for an action, by the key of the action. */
export type Intents = Record<string, string[]>;

const intentsExtension = 'x-service-intents';
export const phrasesMax = 20;
export const phraseCharactersMax = 80;
const toolNameMax = 128;

/**
 * Compiles `intents` of operations and of tools. They are kept beside the actions and not in them,
 * because they are only searched: no call and no decision depends on them.
 */
export function compileIntents(
  context: CompileContext,
  document: DocumentNode<JsonObject>,
): Intents | undefined {
  const intentsFound = [...operationsOf(document), ...toolsOf(document)].flatMap(([key, node]) => {
    const phrases = readPhrases(context, node);
    return phrases.length === 0 ? [] : [[key, phrases] as const];
  });
  return intentsFound.length === 0 ? undefined : Object.fromEntries(intentsFound);
}

/** The operations that have an `operationId`; the others are reported where actions are compiled. */
function operationsOf(document: DocumentNode<JsonObject>): [string, DocumentNode<JsonObject>][] {
  return objectEntriesIn(document, 'paths').flatMap(([, pathItem]) =>
    entryNodesOf(pathItem).flatMap(([, { value, path }]): [string, DocumentNode<JsonObject>][] => {
      if (!isObject(value)) return [];
      const { operationId } = value;
      return typeof operationId === 'string' ? [[operationId, { value, path }]] : [];
    }),
  );
}

function toolsOf(document: DocumentNode<JsonObject>): [string, DocumentNode<JsonObject>][] {
  const mcpBlock = document.value['x-service-mcp'];
  if (!isObject(mcpBlock)) return [];
  return objectEntriesIn({ value: mcpBlock, path: ['x-service-mcp'] }, 'tools').map(
    ([name, node]) => [name.slice(0, toolNameMax), node],
  );
}

function objectEntriesIn(
  { value, path }: DocumentNode<JsonObject>,
  key: string,
): [string, DocumentNode<JsonObject>][] {
  const object = value[key];
  if (!isObject(object)) return [];
  return entryNodesOf({ value: object, path: [...path, key] }).flatMap(
    ([name, node]): [string, DocumentNode<JsonObject>][] =>
      isObject(node.value) ? [[name, { value: node.value, path: node.path }]] : [],
  );
}

function readPhrases(context: CompileContext, node: DocumentNode<JsonObject>): string[] {
  const phrases = new Set<string>();
  for (const { value, path } of readList(context, node, {
    key: intentsExtension,
    max: phrasesMax,
  })) {
    if (typeof value !== 'string' || !/\p{L}/u.test(value)) {
      const message = 'A phrase of "intents" is text with words, such as "send an SMS".';
      context.findings.error('wrong_type', path, message);
    } else if (value.length > phraseCharactersMax) {
      const message = `A phrase of "intents" may have at most ${phraseCharactersMax} characters. Write several short ones.`;
      context.findings.error('out_of_bounds', path, message);
    } else {
      phrases.add(value.trim());
    }
  }
  return [...phrases];
}
