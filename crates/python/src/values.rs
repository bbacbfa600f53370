//! Python values as those of columns and of JSON, and back.

use std::collections::HashMap;

use bytes::Bytes;
use lycosa_records::Metadata;
use lycosa_records::columns::Value;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::Value as Json;

use crate::errors::setting;
use crate::request::Request;

/// Bytes that a user may attach to one request, as JSON.
const MAX_METADATA_BYTES: usize = 64 << 10;

/// Bytes of all that may be extracted of one page, as JSON.
const MAX_FIELDS_BYTES: usize = 1 << 20;

/// How deep JSON may be nested.
const DEPTH: u32 = 64;

/// A value for a column of this name.
pub(crate) fn value(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    // An Arrow scalar holds one.
    if let Ok(as_py) = given.getattr("as_py") {
        return value(name, &as_py.call0()?);
    }
    Ok(if given.is_none() {
        Value::None
    } else if let Ok(flag) = given.cast::<PyBool>() {
        Value::Flag(flag.is_true())
    } else if given.is_instance_of::<PyInt>() {
        Value::Number(given.extract().map_err(|_| setting(name, given, "an int of at most 64 bits"))?)
    } else if let Ok(text) = given.cast::<PyString>() {
        texts(name, text)?
    } else if let Ok(bytes) = given.cast::<PyBytes>() {
        Value::Bytes(Bytes::copy_from_slice(bytes.as_bytes()))
    } else if let Ok(dict) = given.cast::<PyDict>() {
        Value::Map(metadata(name, dict)?)
    } else if let Ok(pairs) = given.extract::<Vec<(String, String)>>()
        && !pairs.is_empty()
    {
        Value::Pairs(pairs)
    } else if let Some(fields) = fields(given) {
        Value::Pairs(fields)
    } else if let Some(requests) = requests(given) {
        Value::Requests(requests)
    } else if let Ok(texts) = given.extract::<Vec<String>>() {
        Value::Texts(texts)
    } else if let Ok(numbers) = given.extract::<Vec<i64>>() {
        Value::Numbers(numbers)
    } else if given.hasattr("dtype")? && given.hasattr("item")? {
        // NumPy's scalars.
        return value(name, &given.call_method0("item")?);
    } else {
        let found = given.get_type().name()?;
        let allowed =
            "None, bool, int, str, bytes, dict, a list of str, of int, of pairs of str or of Request";
        return Err(PyTypeError::new_err(format!("{name}: a {found} is not allowed; allowed: {allowed}")));
    })
}

/// A text; of a column of JSON values by name it is these, as the column itself has them.
fn texts(name: &str, given: &Bound<'_, PyString>) -> PyResult<Value> {
    let Ok(text) = given.extract::<String>() else {
        return Err(setting(name, given.repr()?, "text without single surrogates"));
    };
    if !matches!(name, "metadata" | "fields") {
        return Ok(Value::Text(text));
    }
    let parsed = given.py().import("json")?.call_method1("loads", (given,));
    match parsed.as_ref().ok().and_then(|parsed| parsed.cast::<PyDict>().ok()) {
        Some(dict) => Ok(Value::Map(metadata(name, dict)?)),
        None => Err(setting(name, given.repr()?, "a dict, or the JSON text of one")),
    }
}

/// A list of requests that has one.
fn requests(given: &Bound<'_, PyAny>) -> Option<Vec<lycosa_records::Request>> {
    let requests = given.extract::<Vec<PyRef<'_, Request>>>().ok().filter(|requests| !requests.is_empty())?;
    Some(requests.iter().map(|request| (*request.record).clone()).collect())
}

/// Header fields as a column has them: a list of dictionaries with `name` and `value`.
fn fields(given: &Bound<'_, PyAny>) -> Option<Vec<(String, String)>> {
    let fields = given.extract::<Vec<HashMap<String, String>>>().ok().filter(|fields| !fields.is_empty())?;
    fields.into_iter().map(|mut field| Some((field.remove("name")?, field.remove("value")?))).collect()
}

/// JSON values by name, within their bound. `told`: what they are, for errors.
pub(crate) fn metadata(told: &str, dict: &Bound<'_, PyDict>) -> PyResult<Metadata> {
    let members = dict.iter().map(|(name, given)| Ok((key(told, &name)?, json(told, &given, DEPTH)?)));
    let values: Metadata = members.collect::<PyResult<_>>()?;
    let most = if told == "metadata" { MAX_METADATA_BYTES } else { MAX_FIELDS_BYTES };
    let bytes = serde_json::to_vec(&values).map_or(usize::MAX, |text| text.len());
    if bytes > most {
        return Err(setting(told, format!("{bytes} bytes as JSON"), format!("{most} bytes at most")));
    }
    Ok(values)
}

/// A name.
fn key(told: &str, name: &Bound<'_, PyAny>) -> PyResult<String> {
    name.extract().map_err(|_| PyTypeError::new_err(format!("{told}: a name that is no str; allowed: str")))
}

/// A JSON value.
fn json(told: &str, given: &Bound<'_, PyAny>, depth: u32) -> PyResult<Json> {
    let wrong = |what: &str| {
        PyTypeError::new_err(format!(
            "{told}: {what} is not allowed; allowed: what JSON has (None, bool, int, float, str, list, dict)"
        ))
    };
    let depth = depth.checked_sub(1).ok_or_else(|| wrong("such deep nesting"))?;
    Ok(if given.is_none() {
        Json::Null
    } else if let Ok(flag) = given.cast::<PyBool>() {
        flag.is_true().into()
    } else if given.is_instance_of::<PyInt>() {
        given.extract::<i64>().map_err(|_| wrong("an int of more than 64 bits"))?.into()
    } else if let Ok(number) = given.cast::<PyFloat>() {
        serde_json::Number::from_f64(number.value()).ok_or_else(|| wrong("a float that is no number"))?.into()
    } else if let Ok(text) = given.cast::<PyString>() {
        text.extract::<String>()?.into()
    } else if let Ok(dict) = given.cast::<PyDict>() {
        let members = dict.iter().map(|(name, given)| Ok((key(told, &name)?, json(told, &given, depth)?)));
        Json::Object(members.collect::<PyResult<_>>()?)
    } else if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        given.try_iter()?.map(|item| json(told, &item?, depth)).collect::<PyResult<Vec<_>>>()?.into()
    } else {
        return Err(wrong(&format!("a {}", given.get_type().name()?)));
    })
}

/// JSON values by name as a dictionary.
pub(crate) fn dict<'py>(py: Python<'py>, values: Option<&Metadata>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, json) in values.into_iter().flatten() {
        dict.set_item(name, object(py, json)?)?;
    }
    Ok(dict)
}

/// A JSON value as an object.
fn object<'py>(py: Python<'py>, json: &Json) -> PyResult<Bound<'py, PyAny>> {
    Ok(match json {
        Json::Null => py.None().into_bound(py),
        Json::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into_pyobject(py)?.into_any(),
            (None, Some(number)) => number.into_pyobject(py)?.into_any(),
            (None, None) => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Json::String(text) => PyString::new(py, text).into_any(),
        Json::Array(items) => {
            let items = items.iter().map(|item| object(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Json::Object(members) => dict(py, Some(members))?.into_any(),
    })
}
