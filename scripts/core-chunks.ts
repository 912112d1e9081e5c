const group = (name: string, test: RegExp, priority: number) => ({ name, test, priority })

/**
 * The files of @toolcrib/core, by what loads them: each group has what it imports, except what one of a higher priority has.
 * What a page loads that registers, searches and calls tools is in the first two; test/browser.test.ts holds its size.
 */
export const CORE_CHUNKS = [
  group('core', /core[\\/]src[\\/]tool-registry\.ts$/, 9),
  group(
    'search',
    /src[\\/](search[\\/](catalogue-search|lexical)|session[\\/]search-history|schema[\\/]check-arguments|meta-tools[\\/]fit-matches|call[\\/]trim-results)\.ts$/,
    8,
  ),
  group('patterns', /src[\\/]bounded-pattern\.ts$/, 7),
  group('rare', /src[\\/]schema[\\/]rare-checks\.ts$/, 6),
  group('parts', /query[\\/]request-parts\.ts$/, 6),
  group('regex', /src[\\/]search[\\/]regex\.ts$/, 6),
  group('weighted', /src[\\/]search[\\/]weighted\.ts$/, 6),
  group('masks', /src[\\/]secrets[\\/]mask-arguments\.ts$/, 6),
  group('dispatch', /src[\\/]meta-tools[\\/]explain-dispatch\.ts$/, 6),
  group('types', /src[\\/]meta-tools[\\/]tool-types\.ts$/, 6),
  group('hints', /src[\\/]session[\\/]turn-hints\.ts$/, 6),
  group('more', /core[\\/]src[\\/](index|internal)\.ts$/, 1),
]
