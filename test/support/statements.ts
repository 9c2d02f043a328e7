import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Statement {
  readonly file: string;
  /** The name of the function or constant that contains the statement. */
  readonly within: string;
  /** The SQL statement in one line. Each expression is replaced by `${…}`. */
  readonly text: string;
}

/**
 * Returns every SQL statement in the component's `*.sql.ts` files: each tagged template, including
 * templates within other templates.
 */
export function statementsOf(component: string): Statement[] {
  return readdirSync(component, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.sql.ts'))
    .flatMap((name) => {
      const file = join(component, name);
      const source = readFileSync(file, 'utf8');
      return findTemplates(source).map(({ at, text }) => ({
        file,
        within: declaredNameBefore(source, at),
        text,
      }));
    });
}

function findTemplates(source: string): { at: number; text: string }[] {
  const foundTemplates: { at: number; text: string }[] = [];
  for (const { index, 0: tag } of source.matchAll(/\b(?:sql|tx|db)\s*(?:<[^`]*?>)?\s*`/g)) {
    const { text } = readTemplate(source, index + tag.length);
    foundTemplates.push({
      at: index,
      text: text.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ').trim(),
    });
  }
  return foundTemplates;
}

/**
 * Reads a template literal up to its closing backtick. Replaces its `${…}` expressions, together
 * with the template literals inside them.
 */
function readTemplate(source: string, startIndex: number): { text: string; end: number } {
  let text = '';
  for (let at = startIndex; at < source.length; at += 1) {
    if (source[at] === '`') return { text, end: at };
    if (source.startsWith('${', at)) {
      at = endOfExpression(source, at + 2);
      text += '${…}';
    } else {
      text += source[at];
    }
  }
  throw new Error('a template without an end');
}

function endOfExpression(source: string, startIndex: number): number {
  let depth = 0;
  for (let at = startIndex; at < source.length; at += 1) {
    if (source[at] === '`') at = readTemplate(source, at + 1).end;
    else if (source[at] === '{') depth += 1;
    else if (source[at] === '}') {
      if (depth === 0) return at;
      depth -= 1;
    }
  }
  throw new Error('an expression without an end');
}

function declaredNameBefore(source: string, at: number): string {
  const declaredNames = [
    ...source.slice(0, at).matchAll(/^(?:export )?(?:async )?(?:function|const) (\w+)/gm),
  ];
  return declaredNames.at(-1)?.[1] ?? '?';
}

/** The tables of a component that have a column `org_id`, according to its migrations. */
export function tenantTablesOf(component: string): string[] {
  const folder = join(component, 'migrations');
  const text = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
  return [...text.matchAll(/create table (\w+\.\w+) \(([\s\S]*?)\n\);/g)]
    .filter(([, , columns = '']) => /^\s*org_id\b/m.test(columns))
    .map(([, table = '']) => table);
}
