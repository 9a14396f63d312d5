// Draws the pages that the dashboard hands over, each over the one before it: what is the same stays as it is, so nothing
// flickers, no picture is loaded anew, and the place that was scrolled to is kept. Nothing that is in a page runs.
(() => {
  const TYPES = { svg: 'image/svg+xml', css: 'text/css' }
  const { nonce } = document.querySelector('style')
  const parser = new DOMParser()
  /** Files by their paths: their content, and the address at which they are for this document alone. */
  const files = new Map()

  addEventListener('message', ({ source, data }) => {
    if (source !== parent) return
    keep(data.files)
    // The policy of this document has a nonce of its own.
    const page = parser.parseFromString(data.html.replaceAll(data.nonce, nonce), 'text/html')
    prepare(page, data.asset_base)
    morph(document.documentElement, page.documentElement)
  })
  // A link would lead away from the page.
  addEventListener('click', (event) => event.preventDefault(), true)
  parent.postMessage('ready', '*')

  function keep(changed) {
    for (const [path, content] of changed) {
      if (files.has(path)) URL.revokeObjectURL(files.get(path).address)
      if (content) files.set(path, { content, address: addressOf(path, content) })
      else files.delete(path)
    }
    if (changed.length === 0) return
    for (const [path, file] of files) {
      if (!path.endsWith('.css')) continue
      URL.revokeObjectURL(file.address)
      file.address = addressOf(path, styles(path, new TextDecoder().decode(file.content)))
    }
  }

  function addressOf(path, content) {
    return URL.createObjectURL(new Blob([content], { type: TYPES[path.split('.').pop()] ?? '' }))
  }

  /** A style sheet names other files as they lie beside it. */
  function styles(path, text) {
    return text.replaceAll(/url\(\s*(["']?)([^"')]+)\1\s*\)/g, (all, _, name) => {
      const found = URL.canParse(name, `https://theme.invalid/${path}`) && new URL(name, `https://theme.invalid/${path}`)
      const address = found && found.host === 'theme.invalid' && files.get(decoded(found.pathname.slice(1)))?.address
      return address ? `url("${address}")` : all
    })
  }

  function decoded(path) {
    try {
      return decodeURIComponent(path)
    } catch {
      return path
    }
  }

  /** Leaves out what would run, reload, reach others or only be there without scripts, and puts files in place of their names. */
  function prepare(page, base) {
    for (const element of page.querySelectorAll('script, noscript, meta[http-equiv], base, link:not([rel=stylesheet])')) element.remove()
    const named = new RegExp(`${base.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}([^\\s"'()<>?#]+)`, 'g')
    const put = (text) => text.replaceAll(named, (all, path) => files.get(decoded(path))?.address ?? all)
    for (const element of page.querySelectorAll('*')) {
      for (const attribute of element.attributes) {
        if (attribute.value.includes(base)) attribute.value = put(attribute.value)
      }
      if (element.localName === 'style' && element.textContent.includes(base)) element.textContent = put(element.textContent)
    }
  }

  /** Makes an element what another one is, with as few changes as it takes. */
  function morph(is, wanted) {
    if (is.nodeType !== wanted.nodeType || is.nodeName !== wanted.nodeName) {
      is.replaceWith(wanted)
      return
    }
    if (is.nodeType !== Node.ELEMENT_NODE) {
      if (is.nodeValue !== wanted.nodeValue) is.nodeValue = wanted.nodeValue
      return
    }
    for (const { name } of [...is.attributes]) if (!wanted.hasAttribute(name)) is.removeAttribute(name)
    for (const { namespaceURI, name, value } of wanted.attributes) {
      if (is.getAttribute(name) !== value) is.setAttributeNS(namespaceURI, name, value)
    }
    const [before, after] = [[...is.childNodes], [...wanted.childNodes]]
    for (const [index, node] of after.entries()) {
      if (before[index]) morph(before[index], node)
      else is.append(node)
    }
    for (const node of before.slice(after.length)) node.remove()
  }
})()
