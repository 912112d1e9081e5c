import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

// The page is a handful of files with hashed names: no inline script or style, nothing from elsewhere.
export default defineConfig({
  root: here('.'),
  base: './',
  publicDir: false,
  // From the sources, of which only what is used is included; the built file is one piece.
  resolve: { alias: { '@toolcrib/core/internal': here('../../../../core/src/internal.ts') } },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: here('../../../dist/inspector/page'),
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
})
