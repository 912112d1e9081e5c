import { join } from 'node:path'
import ts from 'typescript'
import { type Block, ROOT } from './pages.ts'

/** The sources and every `ts` block of every page, compiled as one strict program. */
export interface DocsProgram {
  readonly program: ts.Program
  /** The source file of each block. */
  readonly files: ReadonlyMap<Block, string>
}

/**
 * Compiles nothing yet: the checker looks at what it is asked about, so checking all blocks costs little more than
 * reading the sources. Blocks exist in memory only, each beside its page and with the line numbers it has there.
 */
export function openProgram(blocks: readonly Block[]): DocsProgram {
  const read = ts.getParsedCommandLineOfConfigFile(
    join(ROOT, 'tsconfig.json'),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (fault) => {
        throw new Error(ts.flattenDiagnosticMessageText(fault.messageText, '\n'))
      },
    },
  )
  if (read === undefined) throw new Error('tsconfig.json cannot be read')
  const files = new Map(blocks.map((block) => [block, join(ROOT, `${block.page}.${block.line}.ts`)]))
  const texts = new Map([...files].map(([{ line, code }, path]) => [path, '\n'.repeat(line - 1) + code]))
  // A block may leave out what it does not use; everything else is as strict as the sources.
  const options: ts.CompilerOptions = { ...read.options, moduleDetection: ts.ModuleDetectionKind.Force }
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (path) => texts.has(path) || fileExists.call(host, path)
  host.readFile = (path) => texts.get(path) ?? readFile.call(host, path)
  host.getSourceFile = (path, language, ...rest) => {
    const text = texts.get(path)
    return text === undefined
      ? getSourceFile.call(host, path, language, ...rest)
      : ts.createSourceFile(path, text, language)
  }
  const sources = Object.values<string[]>(options.paths ?? {})
    .flat()
    .map((path) => join(ROOT, path))
  return { program: ts.createProgram([...sources, ...texts.keys()], options, host), files }
}

/** What does not compile, as `page:line: reason`. */
export function typeFaults({ program, files }: DocsProgram): readonly string[] {
  return [...files].flatMap(([{ page }, path]) => {
    const file = program.getSourceFile(path)
    const faults = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
    return faults.map(({ messageText, start }) => {
      const line = start === undefined || !file ? 0 : file.getLineAndCharacterOfPosition(start).line + 1
      return `${page}:${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    })
  })
}
