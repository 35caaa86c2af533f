"use strict";
const model = document.body.dataset.model;
const byId = (id) => document.getElementById(id);
const tokenBox = byId("token");
const handed = /^#token=([\w.~-]+)$/.exec(location.hash);
if (location.hash.startsWith("#token=")) {
  if (handed) sessionStorage.setItem("token", handed[1]);
  history.replaceState(null, "", location.pathname + location.search);
}
tokenBox.value = sessionStorage.getItem("token") || "";
if (tokenBox.value) byId("token-box").open = false;
tokenBox.addEventListener("change", () => {
  sessionStorage.setItem("token", tokenBox.value.trim());
  showLeft();
});

async function ask(path, body) {
  const headers = {};
  if (tokenBox.value.trim()) headers.Authorization = "Bearer " + tokenBox.value.trim();
  if (body) headers["Content-Type"] = "application/json";
  const options = { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) };
  const answer = await fetch(path + "?model=" + encodeURIComponent(model), options);
  const found = await answer.json();
  if (answer.ok) return found;
  if (answer.status === 401) {
    byId("token-box").open = true;
    throw new Error("It needs a token that the service knows. Check what stands under Token.");
  }
  throw new Error(found.error ? found.error.message : "The service did not answer.");
}

function element(tag, text) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  return made;
}

function asCell(field) {
  const text = field.value.trim();
  if (text === "") return null;
  if (field.dataset.number) {
    const number = Number(text.replace(",", "."));
    return Number.isFinite(number) ? number : text;
  }
  return field.value;
}

function refuse(out, words) {
  out.replaceChildren(element("strong", "Not answered. "), words);
  out.dataset.state = "refused";
}

/** The first field of a number that holds something else, marked for eyes and screen readers. */
function wrongField(fields) {
  let first = null;
  for (const field of fields) {
    const wrong = field.dataset.number && typeof asCell(field) === "string";
    field.ariaInvalid = wrong ? "true" : null;
    if (wrong && !first) first = field;
  }
  return first;
}

function gauge(words, value, most) {
  const label = element("label", words + " "), meter = element("meter");
  meter.max = most;
  meter.value = value;
  label.append(meter);
  return label;
}

function showShares(out, found) {
  const shares = found.probabilities[0];
  found.classes.forEach((name, i) => {
    out.append(gauge(name + ": " + (100 * shares[i]).toFixed(1) + " %", shares[i], 1));
  });
  const unsure = Math.max(...shares) < 0.6;
  out.append(element("p", unsure
    ? "The model is not sure: the classes are nearly as likely as each other."
    : "These are the model's own probabilities; its noise is part of them."));
}

function showBounds(out, found) {
  out.append(element("p", found.target + ", in its own units. The model's numbers lie between "
    + found.bounds[0] + " and " + found.bounds[1] + ", as was declared."
    + (found.noise_at_most ? " Noise alone moves them by up to ±\u00a0" + found.noise_at_most.toPrecision(2)
      + " in 95 of 100 releases, or by less: that depends on the rows." : "")));
}

function showScore(out, found) {
  const score = found.scores[0];
  if (Array.isArray(score)) return;
  let words = "Score " + score.toPrecision(3) + ": above zero it speaks for “" + found.classes[1] + "”.";
  if (found.noise_sd) {
    const wide = 1.96 * found.noise_sd;
    words += " Noise alone moves it by up to ±\u00a0" + wide.toPrecision(2) + " in 95 of 100 answers"
      + (Math.abs(score) < wide ? ", so this answer could as well be the other one." : ".");
  }
  out.append(element("p", words));
}

byId("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const out = byId("answer"), button = event.target.querySelector("button");
  if (button.ariaDisabled === "true") return;
  const fields = [...event.target.querySelectorAll("[data-column]")], wrong = wrongField(fields);
  if (wrong) {
    refuse(out, wrong.dataset.column + " must be a number, or empty where it is not known.");
    wrong.focus();
    return;
  }
  const row = Object.fromEntries(fields.map((field) => [field.dataset.column, asCell(field)]));
  button.ariaDisabled = "true"; // a button that is disabled would lose the keyboard
  try {
    const found = await ask("/predict", { rows: [row] });
    const told = found.predictions[0];
    out.replaceChildren(element("b", found.bounds ? String(Number(told.toPrecision(4))) : String(told)));
    out.dataset.state = "answered";
    if (found.bounds) showBounds(out, found);
    else if (found.probabilities) showShares(out, found);
    else if (found.scores) showScore(out, found);
  } catch (error) {
    refuse(out, error.message);
  }
  button.ariaDisabled = "false";
  showLeft();
});

async function showLeft() {
  if (!tokenBox.value.trim() && document.body.dataset.open !== "yes") return;
  try {
    const found = await ask("/budget");
    const gauges = [];
    if (found.left !== null) {
      const most = found.answered + found.left;
      gauges.push(gauge("Rows that can still be asked: " + found.left + " of " + most, found.left, most));
    }
    if (found.account) {
      const account = found.account;
      gauges.push(gauge("The ledger, for further releases from the same rows: " + account.left.toPrecision(3)
        + " of " + account.cap.toPrecision(3) + " " + account.counts + " left", account.left, account.cap));
    }
    byId("left").textContent = found.words;
    byId("gauges").replaceChildren(...gauges);
  } catch (error) {
    byId("left").textContent = error.message;
    byId("gauges").replaceChildren();
  }
}

function moment(time, words) {
  const made = element("li"), when = time.replace("T", " ").replace("+00:00", " UTC");
  made.append(element("small", when), words);
  return made;
}

byId("ledger").addEventListener("click", async () => {
  const out = byId("line");
  try {
    const found = await ask("/ledger");
    const list = element("ol");
    list.className = "line";
    list.append(moment(found.opened, "The account was opened with a cap of " + found.account.counts + " = "
      + found.account.cap));
    for (const charge of found.charges) {
      list.append(moment(charge.time, charge.price + ", " + charge.mechanism
        + (charge.part ? ", part " + charge.part : "") + (charge.released ? "" : " (charged, never released)")
        + ", entry " + charge.entry));
    }
    list.append(moment("now", "Left: " + found.account.counts + " = " + found.account.left));
    out.replaceChildren(list);
  } catch (error) {
    out.replaceChildren(element("p", error.message));
  }
});

window.addEventListener("beforeprint", () => { byId("statement").open = true; });
byId("print").addEventListener("click", () => {
  byId("statement").open = true;
  window.print();
});
showLeft();
