import type { Finding, Trace } from '../../finding.ts'
import { canonicalJson } from '../../json.ts'
import type { ServerTool } from '../server/server-tool.ts'
import { compareServers, type ToolLook, toolLook } from './compare-servers.ts'
import { OtherTools } from './other-tools.ts'
import { scanTool } from './scan-tool.ts'
import { toolTexts } from './tool-texts.ts'

/** Scans the tools of servers as they are listed, individually and compared with those of the others. */
export class ToolScanner {
  readonly #looks = new Map<string, readonly ToolLook[]>()
  readonly #findings = new Map<string, readonly Finding[]>()

  /** Replaces a server's tools; returns the findings that are new. */
  see(server: string, tools: readonly ServerTool[]): readonly Finding[] {
    this.#looks.delete(server)
    const looks = tools.map((tool) => toolLook(server, tool))
    const others = new OtherTools(
      new Map([...this.#looks].map(([other, theirs]) => [other, theirs.map(({ tool }) => tool.name)])),
      tools.map(({ name }) => name),
    )
    const known = new Map<string, readonly Trace[]>()
    const findings = [
      ...tools.flatMap((tool) => {
        const read = toolTexts(tool)
        const meant = others.find(read.texts).map((found): Finding => ({ ...found, server, tool: tool.name }))
        return [...scanTool(server, tool, read, known), ...meant]
      }),
      ...compareServers(server, looks, this.#looks),
    ]
    const told = new Set(this.#findings.get(server)?.map(canonicalJson))
    this.#looks.set(server, looks)
    this.#findings.set(server, findings)
    return findings.filter((finding) => {
      const key = canonicalJson(finding)
      const isNew = !told.has(key)
      told.add(key)
      return isNew
    })
  }

  /** Forgets a server's tools. If it comes back, its findings are reported again. */
  forget(server: string): void {
    this.#looks.delete(server)
    this.#findings.delete(server)
  }

  /** All findings about the current tools. */
  findings(): readonly Finding[] {
    return [...this.#findings.values()].flat()
  }
}
