import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Statement {
  readonly file: string;
  /** The function or constant it stands in. */
  readonly within: string;
  /** SQL in one line, with what is filled in as `${…}`. */
  readonly text: string;
}

/** Every tagged template with SQL below `<component>/repository/`, those inside of others included. */
export function statementsOf(component: string): Statement[] {
  const folder = join(component, 'repository');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .flatMap((name) => {
      const file = join(folder, name);
      const source = readFileSync(file, 'utf8');
      return findTemplates(source).map(({ at, text }) => ({
        file,
        within: nameBefore(source, at),
        text,
      }));
    });
}

function findTemplates(source: string): { at: number; text: string }[] {
  const found: { at: number; text: string }[] = [];
  for (const { index, 0: tag } of source.matchAll(/\b(?:sql|tx|db)\s*(?:<[^`]*?>)?\s*`/g)) {
    const { text } = readTemplate(source, index + tag.length);
    found.push({ at: index, text: text.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ').trim() });
  }
  return found;
}

/** Reads up to the closing backtick; the expressions in it are cut out, nested templates with them. */
function readTemplate(source: string, from: number): { text: string; end: number } {
  let text = '';
  for (let at = from; at < source.length; at += 1) {
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

function endOfExpression(source: string, from: number): number {
  let depth = 0;
  for (let at = from; at < source.length; at += 1) {
    if (source[at] === '`') at = readTemplate(source, at + 1).end;
    else if (source[at] === '{') depth += 1;
    else if (source[at] === '}') {
      if (depth === 0) return at;
      depth -= 1;
    }
  }
  throw new Error('an expression without an end');
}

function nameBefore(source: string, at: number): string {
  const names = [
    ...source.slice(0, at).matchAll(/^(?:export )?(?:async )?(?:function|const) (\w+)/gm),
  ];
  return names.at(-1)?.[1] ?? '?';
}

/** Tables of a component whose rows belong to an org, read from its migrations. */
export function tenantTablesOf(component: string): string[] {
  const folder = join(component, 'migrations');
  const text = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
  return [...text.matchAll(/create table (\w+\.\w+) \(([\s\S]*?)\n\);/g)]
    .filter(([, , columns = '']) => /^\s*org_id\b/m.test(columns))
    .map(([, table = '']) => table);
}
