import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** The repository. */
export const ROOT: string = join(import.meta.dirname, '..', '..')

/** A fenced block of a page. */
export interface Block {
  readonly page: string
  /** The line of its first line of code, from 1. */
  readonly line: number
  /** `ts`, `sh` … as after the fence. */
  readonly language: string
  readonly code: string
}

/** One Markdown file. */
export interface Page {
  /** Relative to the repository, with slashes. */
  readonly path: string
  readonly text: string
  readonly blocks: readonly Block[]
}

/** Reads every page that users read: those beside the README, and everything in docs/. */
export function readPages(): readonly Page[] {
  const beside = readdirSync(ROOT).filter((name) => name.endsWith('.md'))
  const below = ['docs', 'packages/embedder/models', 'examples'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md') && !/(^|[\\/])(\.vitepress|node_modules)[\\/]/.test(name))
      .map((name) => join(folder, name)),
  )
  return [...beside, ...below].sort().map((path) => readPage(path))
}

function readPage(path: string): Page {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const page = relative('.', path).replaceAll('\\', '/')
  return { path: page, text, blocks: readBlocks(page, text) }
}

/** Finds the fenced blocks of a page. A fence may be indented, as in a list. */
export function readBlocks(page: string, text: string): readonly Block[] {
  const blocks: Block[] = []
  let open: { line: number; language: string; fence: string; indent: number; code: string[] } | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const [, indent = '', fence, language = ''] = /^(\s*)(`{3,})(.*)$/.exec(line) ?? []
    if (open === undefined) {
      if (fence !== undefined)
        open = { line: index + 2, language: language.trim(), fence, indent: indent.length, code: [] }
    } else if (fence === open.fence && language.trim() === '') {
      blocks.push({ page, line: open.line, language: open.language, code: `${open.code.join('\n')}\n` })
      open = undefined
    } else {
      open.code.push(line.slice(open.indent))
    }
  }
  if (open !== undefined) throw new Error(`${page}:${open.line - 1}: this block has no end`)
  return blocks
}

/** The text without its code blocks, line by line as before. */
export function withoutCode(text: string): string {
  let isCode = false
  return text
    .split('\n')
    .map((line) => {
      const isFence = /^\s*```/.test(line)
      if (isFence) isCode = !isCode
      return isFence || isCode ? '' : line
    })
    .join('\n')
}
